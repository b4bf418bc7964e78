/** What `load-once.ts` keeps for all files of a worker: a set-up file itself runs again for each. */
import type { PlaceNames } from '../../src/data/numbering/import/place-names.js'

export const loadedOnce: {
  readonly parsed: Map<string, unknown>
  placeNames?: Promise<PlaceNames>
} = { parsed: new Map() }
