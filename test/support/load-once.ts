/**
 * Parses each YAML text once in a worker, and loads the place names once. Every opened callgate reads
 * the rules of all states and every import of prefixes the places, which takes longer than most cases.
 */
import { vi } from 'vitest'
import { loadedOnce } from './loaded-once.js'

vi.mock('js-yaml', async (importOriginal) => {
  const original = await importOriginal<typeof import('js-yaml')>()
  const { parsed } = loadedOnce
  return {
    ...original,
    // A copy each time, since a reader may change what it got.
    load(text: string, ...options: []): unknown {
      if (options.length > 0) return original.load(text, ...options)
      if (!parsed.has(text)) parsed.set(text, original.load(text))
      return structuredClone(parsed.get(text))
    },
  }
})

vi.mock('../../src/data/numbering/import/place-names.js', async (importOriginal) => {
  const original =
    await importOriginal<typeof import('../../src/data/numbering/import/place-names.js')>()
  return {
    ...original,
    openPlaceNames() {
      loadedOnce.placeNames ??= original.openPlaceNames()
      return loadedOnce.placeNames
    },
  }
})
