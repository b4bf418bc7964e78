/** The feeds of facts about numbers: what each file holds, what reads it, and where it lies. */
import { join } from 'node:path'
import { formatDay, type LocalDay } from '../../domain/clock.js'
import type { FactRow, FactShape } from '../../storage/fact-shape.js'
import { type CurrentCarrierFact, readCurrentCarrier } from '../feeds/current-carrier.js'
import type { FeedFile, FileRead } from '../feeds/fact-table.js'
import { type ComplaintFact, readFtcComplaints } from '../feeds/ftc-complaints.js'
import { type LineStatusFact, readLineStatus } from '../feeds/line-status.js'
import { type ReassignedFact, readReassigned } from '../feeds/reassigned.js'
import { type ResOrBusinessFact, readResOrBusiness } from '../feeds/res-or-business.js'
import { readSpamLabels, type SpamLabelFact } from '../feeds/spam-labels.js'

export interface FactFeed<Row extends FactRow> {
  readonly shape: FactShape<Row>
  readonly read: (file: FeedFile<Row>) => Promise<FileRead>
  /** Whether the rows of a new file are added to those in use; otherwise they replace them. */
  readonly addsUp: boolean
  /** The column that says how old a row is, and its value for a day. */
  readonly age?: { readonly column: keyof Row & string; of(day: LocalDay): string }
}

const currentCarrier: FactFeed<CurrentCarrierFact> = {
  shape: {
    feed: 'current-carrier',
    formatVersion: 1,
    columns: { phoneType: 'text', ocn: 'text', telcoName: 'text', lookedUpOn: 'integer' },
    key: [],
    newestBy: 'lookedUpOn',
  },
  read: readCurrentCarrier,
  addsUp: false,
}

const lineStatus: FactFeed<LineStatusFact> = {
  shape: {
    feed: 'line-status',
    formatVersion: 1,
    columns: { status: 'text', errorText: 'text', checkedOn: 'integer' },
    key: [],
    newestBy: 'checkedOn',
  },
  read: readLineStatus,
  addsUp: false,
}

const resOrBusiness: FactFeed<ResOrBusinessFact> = {
  shape: { feed: 'res-or-business', formatVersion: 1, columns: { kind: 'text' }, key: [] },
  read: readResOrBusiness,
  addsUp: false,
}

/** A disconnect before `since` is in no such data: its day is a slip or stands for none. */
const reassignedOf = (feed: string, since: string): FactFeed<ReassignedFact> => ({
  shape: {
    feed,
    formatVersion: 2,
    columns: { said: 'text', day: 'integer', asOn: 'integer' },
    key: ['said', 'day'],
    newestBy: 'asOn',
  },
  read: (file) => readReassigned(file, since),
  addsUp: true,
})

const spamLabels: FactFeed<SpamLabelFact> = {
  shape: {
    feed: 'spam-labels',
    formatVersion: 1,
    columns: { source: 'text', flagged: 'integer', observedOn: 'integer' },
    key: ['source'],
    newestBy: 'observedOn',
  },
  read: readSpamLabels,
  addsUp: false,
}

const ftcComplaints: FactFeed<ComplaintFact> = {
  shape: {
    feed: 'ftc-complaints',
    formatVersion: 1,
    columns: {
      ...({ id: 'text', createdAt: 'text', violatedAt: 'text', city: 'text' } as const),
      ...({ state: 'text', areaCode: 'text', subject: 'text', robocall: 'text' } as const),
    },
    key: ['createdAt', 'id'],
    most: 1_000,
  },
  read: readFtcComplaints,
  addsUp: true,
  age: { column: 'createdAt', of: formatDay },
}

/** By name, which is also that of the file and, but for `carrier-reassigned`, of the command. */
export const factFeeds = {
  'current-carrier': currentCarrier,
  'line-status': lineStatus,
  'res-or-business': resOrBusiness,
  /** What the national database says. */
  reassigned: reassignedOf('reassigned', '2021-01-27'),
  /** What the service's own carrier data says. */
  'carrier-reassigned': reassignedOf('carrier-reassigned', '2018-07-01'),
  'spam-labels': spamLabels,
  'ftc-complaints': ftcComplaints,
} as const

export type FactFeedName = keyof typeof factFeeds

export const factFeedNames = Object.keys(factFeeds) as readonly FactFeedName[]

/** The row type of each feed. */
export type FactOf<Name extends FactFeedName> =
  (typeof factFeeds)[Name] extends FactFeed<infer Row> ? Row : never

const factFileExtension = '.sqlite'

/** Where the fact files of a data folder are. */
export function factsFolderOf(dataDir: string): string {
  return join(dataDir, 'facts')
}

export function factFilePath(folder: string, feed: string): string {
  return join(folder, `${feed}${factFileExtension}`)
}
