/**
 * The URL that the text is, or `undefined`. To be used instead of `URL.canParse`, which in Node.js 20
 * refuses names with letters beyond Latin-1 bytes once it has been called often enough to be optimized.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
