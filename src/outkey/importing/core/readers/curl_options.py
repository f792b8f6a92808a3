"""The options of curl: which of them take a value, and their short names."""

from outkey.foundation.core.paging_words import words

SHORT = {
    "0": "http1.0", "1": "tlsv1", "2": "sslv2", "3": "sslv3", "4": "ipv4",
    "6": "ipv6", "#": "progress-bar", ":": "next", "A": "user-agent", "B": "use-ascii",
    "C": "continue-at", "D": "dump-header", "E": "cert", "F": "form", "G": "get",
    "H": "header", "I": "head", "J": "remote-header-name", "K": "config",
    "L": "location", "M": "manual", "N": "no-buffer", "O": "remote-name",
    "P": "ftp-port", "Q": "quote", "R": "remote-time", "S": "show-error",
    "T": "upload-file", "U": "proxy-user", "V": "version", "X": "request",
    "Y": "speed-limit", "Z": "parallel", "a": "append", "b": "cookie",
    "c": "cookie-jar", "d": "data", "e": "referer", "f": "fail", "g": "globoff",
    "h": "help", "i": "include", "j": "junk-session-cookies", "k": "insecure",
    "l": "list-only", "m": "max-time", "n": "netrc", "o": "output",
    "p": "proxytunnel", "q": "disable", "r": "range", "s": "silent",
    "t": "telnet-option", "u": "user", "v": "verbose", "w": "write-out", "x": "proxy",
    "y": "speed-time", "z": "time-cond",
}  # fmt: skip
WITH_VALUE = words("""
    abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers
    config connect-timeout connect-to continue-at cookie cookie-jar create-file-mode
    crlfile curves data data-ascii data-binary data-raw data-urlencode delegation
    dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url dump-header ech
    egd-file engine etag-compare etag-save expect100-timeout form form-string
    ftp-account ftp-alternative-to-user ftp-method ftp-port ftp-ssl-ccc-mode
    happy-eyeballs-timeout-ms haproxy-clientip header help hostpubmd5 hostpubsha256
    hsts interface ip-tos ipfs-gateway json keepalive-cnt keepalive-time key
    key-type krb libcurl limit-rate local-port login-options mail-auth mail-from
    mail-rcpt max-filesize max-redirs max-time netrc-file noproxy oauth2-bearer
    output output-dir parallel-max pass pinnedpubkey preproxy proto proto-default
    proto-redir proxy proxy-cacert proxy-capath proxy-cert proxy-cert-type
    proxy-ciphers proxy-crlfile proxy-header proxy-key proxy-key-type proxy-pass
    proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers proxy-tlsauthtype
    proxy-tlspassword proxy-tlsuser proxy-user proxy1.0 pubkey quote random-file
    range rate referer request request-target resolve retry retry-delay
    retry-max-time sasl-authzid service-name sigalgs socks4 socks4a socks5
    socks5-gssapi-service socks5-hostname speed-limit speed-time stderr
    telnet-option tftp-blksize time-cond tls-max tls13-ciphers tlsauthtype
    tlspassword tlsuser trace trace-ascii trace-config unix-socket upload-file
    upload-flags url url-query user user-agent variable vlan-priority write-out
    """)
FLAGS = words("""
    anyauth append basic ca-native cert-status compressed compressed-ssh create-dirs
    crlf digest disable disable-eprt disable-epsv disallow-username-in-url
    doh-cert-status doh-insecure fail fail-early fail-with-body false-start
    form-escape ftp-create-dirs ftp-pasv ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc
    ftp-ssl-control get globoff haproxy-protocol head http0.9 http1.0 http1.1 http2
    http2-prior-knowledge http3 http3-only ignore-content-length include insecure
    ipv4 ipv6 junk-session-cookies list-only location location-trusted
    mail-rcpt-allowfails manual metalink mptcp negotiate netrc netrc-optional next
    no-alpn no-buffer no-clobber no-keepalive no-npn no-progress-meter no-sessionid
    ntlm ntlm-wb parallel parallel-immediate path-as-is post301 post302 post303
    progress-bar proxy-anyauth proxy-basic proxy-ca-native proxy-digest proxy-http2
    proxy-insecure proxy-negotiate proxy-ntlm proxy-ssl-allow-beast
    proxy-ssl-auto-client-cert proxy-tlsv1 proxytunnel raw remote-header-name
    remote-name remote-name-all remote-time remove-on-error retry-all-errors
    retry-connrefused sasl-ir show-error show-headers silent skip-existing
    socks5-basic socks5-gssapi socks5-gssapi-nec ssl ssl-allow-beast
    ssl-auto-client-cert ssl-no-revoke ssl-reqd ssl-revoke-best-effort sslv2 sslv3
    styled-output suppress-connect-headers tcp-fastopen tcp-nodelay tftp-no-options
    tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding trace-ids trace-time use-ascii
    verbose version xattr
    """)
# They change what the terminal shows or how bytes travel, but no request.
WITHOUT_EFFECT = words("""
    compressed compressed-ssh create-dirs disable fail fail-early fail-with-body
    http1.1 http2 http2-prior-knowledge http3 include ipv4 ipv6 no-buffer no-clobber
    no-keepalive no-progress-meter no-sessionid no-alpn output output-dir parallel
    parallel-immediate parallel-max progress-bar remote-name remote-name-all
    remote-time remote-header-name remove-on-error retry-all-errors
    retry-connrefused retry-delay retry-max-time show-error show-headers silent
    stderr styled-output suppress-connect-headers tcp-fastopen tcp-nodelay trace
    trace-ascii trace-time verbose write-out xattr keepalive-time speed-limit
    speed-time limit-rate max-filesize dump-header path-as-is basic anyauth
    happy-eyeballs-timeout-ms ssl-no-revoke dump-header ca-native globoff post301
    post302 post303 max-redirs ssl-reqd ssl rate
    """)
