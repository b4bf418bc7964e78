/** In table `journals`, the origin of an edge's journal is the account, this, and the checksum of its name. */
export const edgeOriginMark = ' edge '

/** `undefined` for the journal of a server. */
export function findEdgeAccount(origin: string): string | undefined {
  const end = origin.indexOf(edgeOriginMark)
  return end < 0 ? undefined : origin.slice(0, end)
}
