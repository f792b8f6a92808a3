"""From an exchange to its causes: ranked suspicions with evidence, remedy and fix.

Pure: the response or error, the configuration and the time go in, a diagnosis comes
out. Rules yield weighted clues (`response_rules`, `entered`, `failures`) for the
reasons of one table (`reasons`). Remote text is read but never passed on, except by
`remote_message`, which exists for that.

    diagnose              a response from 400 on
    diagnose_success      a response that reports success and an error, in tests only
    doubt_about_success   one that may be a refusal, in tests only
    diagnose_error        there was no response
"""
