/** Reads what a call says of a project, whichever door it came through, into columns to store. */
import { type FieldProblem, invalidRequest } from '../../errors.js'
import type { ProjectRow } from '../../storage/tables.js'
import type { ProjectSwitches } from './project-rows.js'

/** Absent is unchanged; `null` and blank text clear. */
export interface ProjectInput extends ProjectSwitches {
  readonly name?: string | null | undefined
  readonly notes?: string | null | undefined
  /** Subscription account number of the federal registry. */
  readonly san?: string | null | undefined
  /** Organization's id at the federal registry. */
  readonly orgId?: string | null | undefined
  /** One or the other, told apart by its look; takes the place of both. */
  readonly federalId?: string | null | undefined
  readonly webhookUrl?: string | null | undefined
}

type TextField = 'name' | 'notes' | 'san' | 'orgId' | 'federalId' | 'webhookUrl'

/** What a door calls the fields, for its refusals. */
export type ProjectFieldNames = Readonly<Record<'code' | TextField, string>>

export type ProjectColumns = Partial<
  Pick<
    ProjectRow,
    | 'name'
    | 'notes'
    | 'san'
    | 'org_id'
    | 'webhook_url'
    | 'industry_exemption'
    | 'voip_restricted'
    | 'inherits_internal_dnc'
    | 'inherits_ebr'
  >
>

export interface WantedProject {
  readonly columns: ProjectColumns
  /** `null` takes both ids away; which columns it means depends on what is stored. */
  readonly federalId?: string | null | undefined
}

const longestName = 200
const longestNotes = 2000
/** Spec, "Limits": as other notification addresses. */
const longestUrl = 1500

/** Throws {@link AppError} listing every field that breaks a rule. */
export function readProjectInput(
  input: ProjectInput,
  names: ProjectFieldNames,
  refuseBadUrl: (field: string, url: string) => void,
): WantedProject {
  const problems: FieldProblem[] = []
  const read = (field: TextField, rule: TextRule) => {
    const text = textOf(input[field])
    const broken = text === undefined ? undefined : rule(text ?? '')
    if (broken !== undefined) {
      problems.push({ field: names[field], value: input[field] ?? undefined, rule: broken })
    }
    return text
  }
  const webhookUrl = read('webhookUrl', (url) => tooLong(url, longestUrl))
  const name = read('name', brokenName)
  const columns = {
    name: name ?? undefined,
    notes: read('notes', brokenNotes),
    san: read('san', brokenFederalId),
    org_id: read('orgId', brokenFederalId),
    webhook_url: webhookUrl,
    industry_exemption: flagOf(input.industryExemption),
    voip_restricted: flagOf(input.voipRestricted),
    inherits_internal_dnc: flagOf(input.inheritsInternalDnc),
    inherits_ebr: flagOf(input.inheritsEbr),
  }
  const federalId = read('federalId', brokenFederalId)
  if (problems.length > 0) throw invalidRequest(problems)
  if (webhookUrl) refuseBadUrl(names.webhookUrl, webhookUrl)
  return { columns: withoutUndefined(columns), federalId }
}

/** The rule a text breaks; `undefined` when it breaks none. Blank text comes as `''`. */
type TextRule = (text: string) => string | undefined

function brokenName(name: string): string | undefined {
  if (name === '' || name.length > longestName) return `must be 1 to ${longestName} characters`
  return /\p{Cc}/u.test(name) ? 'must be one line without control characters' : undefined
}

export function refuseBadName(field: string, name: string): void {
  const rule = brokenName(name.trim())
  if (rule !== undefined) throw invalidRequest([{ field, value: name, rule }])
}

function brokenNotes(notes: string): string | undefined {
  const hasControl = /[^\P{Cc}\t\r\n]/u.test(notes)
  return hasControl ? 'must not hold control characters' : tooLong(notes, longestNotes)
}

/** The rule an id breaks; the registry publishes no form beyond visible characters without blanks. */
export function brokenFederalId(id: string): string | undefined {
  return /^[\x21-\x7e]{0,40}$/.test(id) ? undefined : 'must be 1 to 40 visible ASCII characters'
}

function tooLong(text: string, most: number): string | undefined {
  return text.length > most ? `must not be longer than ${most} characters` : undefined
}

function textOf(value: string | null | undefined): string | null | undefined {
  return value === undefined ? undefined : value?.trim() || null
}

function flagOf(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value)
}

/**
 * The ids to store for one that may be either: account numbers are groups of digits, the last one
 * a year, such as 1122-334455-08. One that is stored already, as given or as the registry resolved
 * it, changes nothing.
 */
export function federalColumns(
  id: string | null | undefined,
  stored: Pick<ProjectRow, 'san' | 'org_id'> = { san: null, org_id: null },
): Partial<Pick<ProjectRow, 'san' | 'org_id'>> {
  if (id === undefined) return {}
  if (id !== null && (id === stored.san || id === stored.org_id)) return {}
  const isSan = id !== null && /^\d+-\d+-\d{2}$/.test(id)
  return isSan ? { san: id, org_id: null } : { san: null, org_id: id }
}

function withoutUndefined<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }
}
