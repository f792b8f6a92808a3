"""Recognising a secret that a remote system repeats in its response.

There are two searches. Both ignore case and read encoded text decoded as well:

    literal   one of the secret's encodings (`encodings.forms`), in one piece: anywhere
              from 4 characters on, a shorter secret only where it is the whole text.
    pattern   `search.SearchPatterns`: 4 to 7 characters only where a value is the
              secret and nothing else, 8 and more anywhere, 12 and more also with other
              characters in between or split into two values. Nothing below 4.

Literal finds more of short secrets, pattern more of long ones. Who asks for which:

    function                        literal  pattern  for
    Secret.occurs_in                   x              one text
    Secret.occurs_in_search_text       x              the same for a SearchText
    SearchPatterns.is_in                        x     records, which contain a short
                                                      secret by chance too often
    SearchPatterns.may_be_in                          quick check before `is_in`: may be
                                                      True for nothing, never False
                                                      where `is_in` is True
    EchoDetector.is_in, .may_be_in              x     the same for all secrets of a run
    reveals_secret, StrictSearch       x        x     what is shown to users or stored
                                                      of a response: the strictest
    SendContext.repeats_secret         x        x     a whole response, for the secrets
                                                      that it may repeat

`reveals_secret` and `StrictSearch` are in `strict`; `EchoDetector` and `SendContext`
are in the engine of sending (`exchange.echoed_secrets`, `wire.context`). Not searches:
`Secret.search_also_finds` compares two secrets, and `has_masked_value` finds the masks
that `EchoDetector.masked` has put into a document.
"""
