import { domainToUnicode } from 'node:url'

/**
 * The URL that the text is, or `undefined`. To be used instead of `URL.canParse`, which in Node.js 20
 * refuses names with letters beyond Latin-1 bytes once it has been called often enough to be optimized.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    const url = new URL(text)
    return url.hostname.split('.').every(isDecodable) ? url : undefined
  } catch {
    return undefined
  }
}

/** Newer versions of Node.js accept labels that are marked as Punycode but are not. */
function isDecodable(label: string): boolean {
  return !/^xn--/i.test(label) || /[^\p{ASCII}]/u.test(domainToUnicode(label))
}
