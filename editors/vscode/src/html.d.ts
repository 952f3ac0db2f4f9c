// Pages are bundled as text.
declare module "*.html" {
  const page: string;
  export default page;
}
