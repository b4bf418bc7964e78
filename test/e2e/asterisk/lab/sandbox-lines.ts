/** What the gate says of the sandbox lines of New York inside calling hours. */

/** By line of 212-555; for calls by people, autodialed ones, and those of an AI. */
export const lines: Readonly<Record<string, readonly [string, string, string]>> = {
  '0100': ['permitted', 'permitted', 'no-consent'],
  '0101': ['permitted', 'no-consent', 'no-consent'],
  '0102': ['permitted', 'no-consent', 'no-consent'],
  '0103': ['national-dnc', 'national-dnc', 'national-dnc'],
  '0104': ['internal-dnc', 'internal-dnc', 'internal-dnc'],
  '0105': ['litigator', 'litigator', 'litigator'],
  '0106': ['permitted', 'permitted', 'permitted'],
  '0107': ['permitted', 'permitted', 'permitted'],
  '0108': ['permitted', 'permitted', 'permitted'],
  '0109': ['permitted', 'permitted', 'no-consent'],
  '0110': ['permitted', 'no-consent', 'no-consent'],
  '0111': ['consent-revoked', 'consent-revoked', 'consent-revoked'],
  '0112': ['permitted', 'permitted', 'permitted'],
}
/** Kind, shipped context that asks for it, its trunk, and place in {@link lines}. */
export const kinds = [
  ['manual', 'gate-manual', 'trunk-manual', 0],
  ['autodialed', 'gate', 'trunk', 1],
  ['AI', 'gate-ai', 'trunk-ai', 2],
] as const
