//! Sites on which the agent changes nothing, and reads nothing without being told to.

use crate::origin::Origin;

/// Domains that handle payment, banking, brokerage or the state, and extension stores; each stands for itself and every
/// name below it. They cannot be removed; the person adds their own as deny rules.
/// Source: the list of the TypeScript Panelot 0.5.0, with Citi's main domain and wallets added.
const DOMAINS: &[&str] = &[
    // Extension stores.
    "chromewebstore.google.com",
    "microsoftedge.microsoft.com",
    // Payment.
    "alipay.com",
    "pay.google.com",
    "pay.weixin.qq.com",
    "paypal.com",
    "stripe.com",
    "unionpay.com",
    "unionpayintl.com",
    "wise.com",
    // Banks.
    "abchina.com",
    "bankcomm.com",
    "bankofamerica.com",
    "boc.cn",
    "ccb.com",
    "chase.com",
    "citi.com",
    "citibank.com",
    "cmbchina.com",
    "hsbc.com",
    "icbc.com.cn",
    "wellsfargo.com",
    // Brokers and wallets.
    "binance.com",
    "coinbase.com",
    "etrade.com",
    "fidelity.com",
    "futuhk.com",
    "schwab.com",
    "tigerbrokers.com",
    // The state.
    "gov",
    "gov.cn",
    "gov.uk",
];

/// Whether a site is on the list. Pages of the browser itself never come this far: Chrome lets no extension in.
pub(crate) fn is_sensitive_origin(origin: &Origin) -> bool {
    let Origin::Site { host, .. } = origin else { return false };
    let is_in =
        |domain: &str| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    DOMAINS.iter().any(|domain| is_in(domain))
}

#[cfg(test)]
mod tests {
    use super::is_sensitive_origin;
    use crate::origin::Origin;

    #[test]
    fn listed_domains_are_recognised_and_look_alikes_are_not() {
        for listed in [
            "https://www.paypal.com",
            "https://paypal.com",
            "http://paypal.com:8080",
            "https://www.irs.gov",
            "https://PAY.google.com.",
        ] {
            assert!(is_sensitive_origin(&Origin::parse(listed)), "{listed}");
        }
        for other in [
            "https://notpaypal.com",
            "https://paypal.com.evil.example",
            "https://paypal.com@evil.example",
            "https://google.com",
            "https://mygov.example",
            "null",
        ] {
            assert!(!is_sensitive_origin(&Origin::parse(other)), "{other}");
        }
    }
}
