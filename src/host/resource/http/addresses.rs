//! Which addresses belong to the open internet, and what the others are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is if it is not one of the open internet, in words that go on after "is"; none for those that are.
/// IPv6 addresses that carry an IPv4 address are what that one is (RFC 6890 and the registries of IANA after it).
pub(super) fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

/// The address that is connected to in the end, as far as one can tell from the address itself.
pub(super) fn innermost(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(outer) => embedded(outer).map_or(address, IpAddr::V4),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (0, _, _) => Some("an unspecified address"),
        (10, _, _) | (172, 16..=31, _) | (192, 168, _) => Some("a private address"),
        (100, 64..=127, _) => Some("an address behind a provider's NAT"),
        (127, _, _) => Some("a loopback address"),
        (169, 254, _) => Some("a link-local address"),
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => Some("a documentation address"),
        (192, 0, 0) => Some("an address reserved for protocols"),
        (192, 88, 99) => Some("a relay address"),
        (198, 18..=19, _) => Some("a benchmarking address"),
        (224..=239, _, _) => Some("a multicast address"),
        (240..=255, _, _) if address.is_broadcast() => Some("the broadcast address"),
        (240..=255, _, _) => Some("a reserved address"),
        _ => None,
    }
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(inner) = embedded(address) {
        return special_v4(inner);
    }
    let [first, second, third, ..] = address.segments();
    if address.is_unspecified() {
        return Some("an unspecified address");
    }
    if address.is_loopback() {
        return Some("a loopback address");
    }
    match (first, second, third) {
        (0xff00..=0xffff, _, _) => Some("a multicast address"),
        (0xfe80..=0xfebf, _, _) => Some("a link-local address"),
        (0xfec0..=0xfeff, _, _) => Some("a site-local address"),
        (0xfc00..=0xfdff, _, _) => Some("a private address"),
        (0x2001, 0x0db8, _) | (0x3fff, 0x0000..=0x0fff, _) => Some("a documentation address"),
        // A translator inside the network, whose addresses are of its own making.
        (0x0064, 0xff9b, 1) => Some("a private address"),
        (0x0100, 0, 0) => Some("a discard-only address"),
        (0x2001, 0x0000..=0x01ff, _) => Some("an address reserved for protocols"),
        (0x5f00, _, _) => Some("an address for segment routing"),
        (0x2000..=0x3fff, _, _) => None,
        _ => Some("a reserved address"),
    }
}

/// The IPv4 address inside: mapped, compatible, translated (NAT64), 6to4 or Teredo.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let join = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match segments {
        // `::` and `::1` are addresses of their own.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // Compatible, mapped, and translated as in RFC 2765.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => Some(join(high, low)),
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => Some(join(high, low)),
        [0x2002, high, low, ..] => Some(join(high, low)),
        // A Teredo client's address is written inverted.
        [0x2001, 0, .., high, low] => Some(join(!high, !low)),
        // ISATAP, below any prefix.
        [_, _, _, _, 0 | 0x0200, 0x5efe, high, low] => Some(join(high, low)),
        _ => None,
    }
}
