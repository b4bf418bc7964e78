/**
 * Reads replies as the vendor's .NET SDK does, as strictly: what that throws at is thrown at here, and
 * what it would take for something else than it is, too.
 */
import { parse } from 'csv-parse/sync'
import { elementsAt, readXml, type XmlElement } from './xml.js'

export interface SdkRow {
  readonly phone: string
  readonly letter: string
  readonly reserved: string
  readonly isLitigator: boolean
  /** `National (USA)`, `State (FL)`: the words before the date. */
  readonly onLists: readonly string[]
  readonly carrier: readonly [ocn: string, type: string, names: string] | undefined
  readonly windows: readonly string[]
  readonly offsetMinutes: number | undefined
  readonly doNotCallToday: boolean
  readonly restrictions: number | undefined
  readonly relationship: string
  readonly isWirelessOrVoip: boolean
  readonly lineType: string
}

const letters = new Set('CXEORWYGHLFVDPBIM')
const relationships = new Set(['S', 'I', 'P', 'R', 'N', ''])
const lineTypes = new Set(['Wireless', 'VoIP', 'AllOther', ''])

/** The rows of a scrub: no header, 14 columns or more, those beyond the first 17 not looked at. */
export function readSdkRows(csv: string): readonly SdkRow[] {
  const rows = parse(csv, {
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
  }) as string[][]
  return rows.map((columns) => {
    try {
      return readRow(columns)
    } catch (cause) {
      throw new Error(`${(cause as Error).message}: ${columns.join(',')}`, { cause })
    }
  })
}

function readRow(columns: readonly string[]): SdkRow {
  if (columns.length < 14) throw new Error('fewer than 14 columns')
  const [phone = '', letter = '', reserved = '', reason = ''] = columns
  if (!letters.has(letter)) throw new Error('column 1 is no letter it knows')
  return {
    phone,
    letter,
    reserved,
    ...readReason(reason),
    carrier: readCarrier(columns[7] ?? ''),
    windows: readWindows(columns[10] ?? ''),
    offsetMinutes: readInteger(columns[11] ?? ''),
    doNotCallToday: readFlag(columns[12] ?? ''),
    restrictions: readInteger(columns[13] ?? ''),
    relationship: oneOf(relationships, columns[14] ?? ''),
    isWirelessOrVoip: readFlag(columns[15] ?? ''),
    lineType: oneOf(lineTypes, columns[16] ?? ''),
  }
}

function readReason(reason: string): Pick<SdkRow, 'isLitigator' | 'onLists'> {
  const parts = reason.split(';')
  if (parts.length === 1) return { isLitigator: reason === 'Litigator', onLists: [] }
  if (parts.length !== 4) throw new Error('the reason is outside the bounds of the array')
  const [national = '', state = '', internal = ''] = parts
  if (internal !== '') throw new Error('the reason would set another flag')
  const onLists = [national, state].filter((part) => part !== '').map(readListing)
  return { isLitigator: false, onLists }
}

function readListing(part: string): string {
  const [name, place, day = '', ...more] = part.split(' ')
  if (more.length > 0 || day === '') throw new Error(`'${part}' is not seen as a match`)
  if (Number.isNaN(Date.parse(day))) throw new Error(`'${day}' is no date`)
  return `${name} ${place}`
}

function readCarrier(text: string): SdkRow['carrier'] {
  if (text === '') return undefined
  const [ocn, type, names, ...more] = text.split(';')
  if (ocn === undefined || type === undefined || names === undefined || more.length > 0) {
    throw new Error('the carrier is outside the bounds of the array')
  }
  return [ocn, type, names]
}

function readWindows(text: string): readonly string[] {
  if (text === '') return []
  const windows = text.split(';')
  const hour = /^(?:1?\d|2[0-3]):[0-5]\d-(?:1?\d|2[0-3]):[0-5]\d$/
  if (windows.length !== 3 || !windows.every((one) => hour.test(one))) {
    throw new Error('the calling window is no time')
  }
  return windows
}

function readInteger(text: string): number | undefined {
  if (text === '') return undefined
  if (!/^-?\d+$/.test(text)) throw new Error(`'${text}' would be read as 0`)
  return Number(text)
}

function readFlag(text: string): boolean {
  if (!['0', '1', ''].includes(text)) throw new Error(`'${text}' would be read as true`)
  return text === '1'
}

function oneOf(known: ReadonlySet<string>, text: string): string {
  if (!known.has(text)) throw new Error(`'${text}' would be read as something else`)
  return text
}

export interface SdkStatus {
  readonly phone: string
  readonly days: readonly string[]
}

/** Lines `phone,day,day`, the days empty for a number that is not on the list. */
export function readSdkStatus(text: string): readonly SdkStatus[] {
  return text.split('\n').flatMap((line) => {
    if (line === '') return []
    const [phone = '', ...days] = line.split(',')
    const isRead = days.length === 2 && days.every((day) => /^(?:\d{4}-\d{2}-\d{2})?$/.test(day))
    if (!isRead) throw new Error(`is no status: ${line}`)
    return [{ phone, days: days.filter((day) => day !== '') }]
  })
}

/** One line `count,day`. */
export function readSdkCount(text: string): number {
  const count = /^(\d+),(?:\d{4}-\d{2}-\d{2})?$/.exec(text.trim())?.[1]
  if (count === undefined) throw new Error(`is no count: ${text}`)
  return Number(count)
}

export interface SdkProject {
  readonly projId: string
  readonly name: string
  readonly status: string
  readonly parentAcctId: string
  readonly parentAcctName: string
  /** Of all projects of the document, as it reads them. */
  readonly campaigns: readonly { readonly id: string; readonly name: string; status: string }[]
}

const projectPath = '/DncCompliance/DncScrub/Accounts/Account/Projects/Project'

/** The first project of the document, `undefined` without any. */
export function readSdkProject(xml: string): SdkProject | undefined {
  const root = readXml(xml)
  const campaigns = elementsAt(root, `${projectPath}/Campaigns/Campaign`).map((campaign) => ({
    id: required(campaign, 'campaignId'),
    name: required(campaign, 'campaignName'),
    status: required(campaign, 'campaignStatus'),
  }))
  const [project] = elementsAt(root, projectPath)
  if (!project) return undefined
  return {
    projId: required(project, 'projId'),
    name: required(project, 'name'),
    status: required(project, 'status'),
    parentAcctId: required(project, 'parentAcctId'),
    parentAcctName: required(project, 'parentAcctName'),
    campaigns,
  }
}

function required({ name, attributes }: XmlElement, attribute: string): string {
  const value = attributes.get(attribute)
  if (value === undefined) throw new Error(`null reference: ${attribute} of ${name}`)
  return value
}
