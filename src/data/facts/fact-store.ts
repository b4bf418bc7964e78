/**
 * The fact files of a folder, open for reading. A damaged new file is reported as a problem while the
 * older content stays in use. The caller decides when to refresh.
 */
import type { Instant } from '../../domain/time/clock.js'
import {
  missingFileStamp,
  readFileStamp,
  readFileStampInBackground,
} from '../../runtime/folders.js'
import { type FactFile, openFactFile } from '../../storage/facts/fact-file.js'
import type { FactFileSchema, FactRow } from '../../storage/facts/fact-file-schema.js'
import { toFailedFile, toRemovedFile, type WatchedFile } from '../files/watched-file.js'
import {
  type FactFeedName,
  type FactRowOf,
  factFeedNames,
  factFeeds,
  resolveFactFilePath,
} from './fact-feeds.js'

interface FactProblem {
  readonly feed: FactFeedName
  readonly path: string
  readonly detail: string
  /** True while older content of the feed is still in use. */
  readonly olderInUse: boolean
}

interface FactFileStatus {
  readonly name: FactFeedName
  readonly entries: number
  readonly asOf: Instant
}

/** Opens the files of a folder, which may not exist yet. */
export function openFactStore({ folder }: { readonly folder: string }): FactStore {
  const store = new FactStore(folder)
  store.refresh()
  return store
}

type KnownFactFile = WatchedFile<FactFile<FactRow>>

export class FactStore {
  readonly #folder: string
  readonly #known = new Map<FactFeedName, KnownFactFile>()

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * The current file of a feed; `undefined` if there is none. Do not keep it across turns of the event
   * loop, since the next {@link refresh} may close it.
   */
  get<Name extends FactFeedName>(feed: Name): FactFile<FactRowOf<Name>> | undefined {
    return this.#known.get(feed)?.content as FactFile<FactRowOf<Name>> | undefined
  }

  /** The feeds with a usable file, for readiness and metrics. */
  all(): readonly FactFileStatus[] {
    return [...this.#known].flatMap(([name, { content }]) =>
      content ? [{ name, entries: content.info.entries, asOf: content.info.asOf }] : [],
    )
  }

  problems(): readonly FactProblem[] {
    return [...this.#known].flatMap(([feed, { content, problem }]) => {
      if (problem) {
        const { path, detail, olderInUse } = problem
        return [{ feed, path, detail, olderInUse }]
      }
      if (content?.damage === undefined) return []
      return [{ feed, path: content.path, detail: content.damage, olderInUse: false }]
    })
  }

  /**
   * Opens new and changed files; reads only a few pages of each, however large it is. Returns true
   * when feeds or problems have changed.
   */
  refresh(): boolean {
    let changed = false
    for (const feed of factFeedNames) {
      const before = this.#known.get(feed)
      const now = this.#loadFile(feed, before)
      if (!now || now === before) continue
      this.#known.set(feed, now)
      if (before?.content !== now.content) before?.content?.close()
      changed = true
    }
    return changed
  }

  /**
   * Like {@link refresh}, but does not wait for the disk unless a file has changed: then for the few pages
   * that opening it reads.
   */
  async refreshInBackground(): Promise<boolean> {
    for (const feed of factFeedNames) {
      const path = resolveFactFilePath(this.#folder, feed)
      const stamp = await readFileStampInBackground(path).catch(() => undefined)
      const known = this.#known.get(feed)?.stamp ?? missingFileStamp
      if (stamp !== known) return this.refresh()
    }
    return false
  }

  close(): void {
    for (const { content } of this.#known.values()) content?.close()
    this.#known.clear()
  }

  #loadFile(feed: FactFeedName, previous: KnownFactFile | undefined): KnownFactFile | undefined {
    const path = resolveFactFilePath(this.#folder, feed)
    let stamp: string | undefined
    try {
      stamp = readFileStamp(path)
      if (stamp === previous?.stamp) return previous
      if (stamp === missingFileStamp) return previous && toRemovedFile(feed, path, 'it')
      const shape: FactFileSchema<FactRow> = factFeeds[feed].shape
      return { stamp, content: openFactFile(path, shape), problem: undefined }
    } catch (cause) {
      return toFailedFile({ name: feed, path, stamp, previous }, cause)
    }
  }
}
