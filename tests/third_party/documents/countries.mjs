// Makes facts of the countries of mledoze/countries, one in each line: `node countries.mjs > countries.facts.jsonl`.
import { createRequire } from "node:module";

const countries = createRequire(import.meta.url)("world-countries/countries.json");
const names = new Map(countries.map((country) => [country.cca3, country.name.common]));

function tell(subject, predicate, objects) {
  for (const object of objects.filter((object) => object !== undefined && object !== "")) {
    console.log(JSON.stringify({ subject, predicate, object }));
  }
}

for (const country of countries) {
  const { name, cca3, capital, region, subregion, area, borders, languages, currencies, demonyms } = country;
  tell(name.common, "is a", ["country"]);
  tell(name.common, "also known as", name.official === name.common ? [] : [name.official]);
  tell(name.common, "abbreviation", [cca3]);
  tell(name.common, "capital", capital);
  tell(name.common, "region", [region]);
  tell(name.common, "subregion", [subregion]);
  tell(name.common, "area in km²", [area]);
  tell(name.common, "borders", borders.map((border) => names.get(border)));
  tell(name.common, "languages", Object.values(languages));
  tell(name.common, "currency", Object.values(currencies).map((currency) => currency.name));
  tell(name.common, "demonym", [demonyms?.eng?.m]);
}
