/** Browsers hide the reason from a page. */
export const hintFor = (_url: URL, _code: string): string | undefined => undefined
/** The browser itself reports a refused certificate, and shows no page. */
export const isCertificateRefusal = (_code: string | undefined): boolean => false
