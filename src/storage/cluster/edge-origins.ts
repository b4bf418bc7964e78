/** In table `journals`, the origin of an edge's journal is the account, this, and the checksum of its name. */
export const edgeOriginMark = ' edge '
