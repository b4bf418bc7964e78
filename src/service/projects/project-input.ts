/** Validates the project fields of a request and converts them to columns. */
import { type FieldProblem, invalidRequest } from '../../errors.js'
import type { ProjectRow } from '../../storage/tables.js'
import type { ProjectSwitches } from './project-rows.js'

/** Absent leaves a value unchanged; `null` and blank text clear it. */
export interface ProjectInput extends ProjectSwitches {
  readonly name?: string | null | undefined
  readonly notes?: string | null | undefined
  /** Subscription account number of the federal registry. */
  readonly san?: string | null | undefined
  /** Organization's id at the federal registry. */
  readonly orgId?: string | null | undefined
  /** A SAN or an organization id, distinguished by its format; replaces both. */
  readonly federalId?: string | null | undefined
  readonly webhookUrl?: string | null | undefined
}

type TextField = 'name' | 'notes' | 'san' | 'orgId' | 'federalId' | 'webhookUrl'

/** The field names of an API, for error messages. */
export type ProjectFieldNames = Readonly<Record<'code' | 'inheritsInternalDnc' | TextField, string>>

type ProjectColumns = Partial<
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

export interface ParsedProjectInput {
  readonly columns: ProjectColumns
  /** `null` clears both ids; which column a value goes to depends on the stored ones. */
  readonly federalId?: string | null | undefined
}

const maxNameLength = 200
const maxNotesLength = 2000
/** Spec, "Limits": the same as for other notification URLs. */
const maxUrlLength = 1500

/** Throws {@link AppError} listing every field that breaks a rule. */
export function readProjectInput(
  input: ProjectInput,
  names: ProjectFieldNames,
  refuseBadUrl: (field: string, url: string) => void,
): ParsedProjectInput {
  const problems: FieldProblem[] = []
  const read = (field: TextField, rule: TextRule) => {
    const text = textOf(input[field])
    const broken = text === undefined ? undefined : rule(text ?? '')
    if (broken !== undefined) {
      problems.push({ field: names[field], value: input[field] ?? undefined, rule: broken })
    }
    return text
  }
  const webhookUrl = read('webhookUrl', (url) => findLengthProblem(url, maxUrlLength))
  const name = read('name', findNameProblem)
  const columns = {
    name: name ?? undefined,
    notes: read('notes', findNotesProblem),
    san: read('san', findFederalIdProblem),
    org_id: read('orgId', findFederalIdProblem),
    webhook_url: webhookUrl,
    industry_exemption: toFlag(input.industryExemption),
    voip_restricted: toFlag(input.voipRestricted),
    inherits_internal_dnc: toFlag(input.inheritsInternalDnc),
    inherits_ebr: toFlag(input.inheritsEbr),
  }
  const federalId = read('federalId', findFederalIdProblem)
  if (problems.length > 0) throw invalidRequest(problems)
  if (webhookUrl) refuseBadUrl(names.webhookUrl, webhookUrl)
  return { columns: withoutUndefined(columns), federalId }
}

/** Returns the rule that a text breaks, or `undefined`. Blank text is passed as `''`. */
type TextRule = (text: string) => string | undefined

function findNameProblem(name: string): string | undefined {
  if (name === '' || name.length > maxNameLength) return `must be 1 to ${maxNameLength} characters`
  return /\p{Cc}/u.test(name) ? 'must be one line without control characters' : undefined
}

export function requireValidName(field: string, name: string): void {
  const rule = findNameProblem(name.trim())
  if (rule !== undefined) throw invalidRequest([{ field, value: name, rule }])
}

function findNotesProblem(notes: string): string | undefined {
  const hasControl = /[^\P{Cc}\t\r\n]/u.test(notes)
  return hasControl
    ? 'must not contain control characters'
    : findLengthProblem(notes, maxNotesLength)
}

/** The violated rule of an id, if any; the registry publishes no stricter format. */
export function findFederalIdProblem(id: string): string | undefined {
  return /^[\x21-\x7e]{0,40}$/.test(id) ? undefined : 'must be 1 to 40 visible ASCII characters'
}

function findLengthProblem(text: string, maxLength: number): string | undefined {
  return text.length > maxLength ? `must not be longer than ${maxLength} characters` : undefined
}

function textOf(value: string | null | undefined): string | null | undefined {
  return value === undefined ? undefined : value?.trim() || null
}

function toFlag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value)
}

/**
 * The columns for an id that may be either: account numbers are groups of digits ending with a year,
 * such as 1122-334455-08. An id that is already stored in either column changes nothing.
 */
export function toFederalColumns(
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
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as {
    [Name in keyof Fields]?: Exclude<Fields[Name], undefined>
  }
}
