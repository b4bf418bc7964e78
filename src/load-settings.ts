/**
 * Fills the settings from one YAML file and environment variables named after the path; the
 * environment wins. All problems are listed at once and stop the start.
 * The only file that reads `process.env`.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, YAMLParseError } from 'yaml'
import { z } from 'zod'
import { type Settings, settingsSchema } from './config.js'

/** Where the files that ship with the program are: the folder of package.json. */
export const packageRoot = resolve(dirname(fileURLToPath(import.meta.url)), '..')

/** One setting as the environment and the documents see it. */
export interface SettingLeaf {
  readonly path: readonly string[]
  readonly variable: string
  readonly schema: z.ZodType
}

/** Every setting of the schema, in order. */
export function settingLeaves(
  schema: z.ZodType = settingsSchema,
  path: readonly string[] = [],
): readonly SettingLeaf[] {
  const inner = unwrapped(schema)
  if (!(inner instanceof z.ZodObject)) {
    return [{ path, variable: variableName(path), schema }]
  }
  return Object.entries(inner.shape).flatMap(([key, child]) =>
    settingLeaves(child as z.ZodType, [...path, key]),
  )
}

/** The schema inside defaults and optionals. */
export function unwrapped(schema: z.ZodType): z.ZodType {
  if (
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional
  ) {
    return unwrapped(schema.unwrap() as z.ZodType)
  }
  return schema
}

function variableName(path: readonly string[]): string {
  const words = path.map((part) => part.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase())
  return `CALLGATE_${words.join('_')}`
}

/** Variables with our prefix that are no settings. */
const otherVariables: ReadonlySet<string> = new Set([
  ...['CALLGATE_CONFIG', 'CALLGATE_LOGIN_ID', 'CALLGATE_TEST_DATA'],
  ...['CALLGATE_E2E_CACHE', 'CALLGATE_E2E_MIRROR', 'CALLGATE_E2E_KEEP'],
])

export class SettingsError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`settings cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.name = 'SettingsError'
    this.problems = problems
  }
}

export interface SettingsInput {
  /** Path of the YAML file; absent means `CALLGATE_CONFIG`, else the default file if there is one. */
  readonly file?: string | undefined
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/**
 * Reads the settings from file and environment. Throws {@link SettingsError} with every problem:
 * unknown settings, wrong types, values out of range, unreadable files.
 */
export function loadSettings(input: SettingsInput = {}): Settings {
  const environment = input.environment ?? process.env
  const problems: string[] = []
  const tree = readSettingsFile(input.file ?? environment.CALLGATE_CONFIG, problems)
  applyEnvironment(tree, environment, problems)
  const parsed = settingsSchema.safeParse(tree)
  if (!parsed.success) {
    problems.push(...parsed.error.issues.map((issue) => describeIssue(issue, tree)))
  }
  if (problems.length > 0 || !parsed.success) throw new SettingsError(problems)
  return deepFreeze(parsed.data)
}

/** The key with which a command asks a running server, where the environment holds one. */
export function loginIdFromEnvironment(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  return environment.CALLGATE_LOGIN_ID?.trim() || undefined
}

type Tree = Record<string, unknown>

function readSettingsFile(file: string | undefined, problems: string[]): Tree {
  const path = resolve(file ?? 'config/callgate.yaml')
  const found = existsSync(path) ? path : shippedSettings(file)
  if (found === undefined) {
    problems.push(`${path}: no such settings file`)
    return {}
  }
  try {
    // A message with the line in it could show a key.
    const tree: unknown = parse(readFileSync(found, 'utf8'), { prettyErrors: false }) ?? {}
    if (isTree(tree)) return tree
    problems.push(`${found}: must hold settings by name`)
  } catch (cause) {
    problems.push(`${found}: ${yamlProblem(cause, found)}`)
  }
  return {}
}

/** With the line, which is counted here since the parser would quote it. */
function yamlProblem(cause: unknown, file: string): string {
  if (!(cause instanceof YAMLParseError)) {
    return cause instanceof Error ? cause.message : String(cause)
  }
  const line = readFileSync(file, 'utf8').slice(0, cause.pos[0]).split('\n').length
  return `line ${line}: ${cause.code}`
}

function shippedSettings(file: string | undefined): string | undefined {
  return file === undefined ? resolve(packageRoot, 'config/callgate.yaml') : undefined
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function applyEnvironment(
  tree: Tree,
  environment: Readonly<Record<string, string | undefined>>,
  problems: string[],
): void {
  const byVariable = new Map(settingLeaves().map((leaf) => [leaf.variable, leaf]))
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith('CALLGATE_') || otherVariables.has(variable)) continue
    const leaf = byVariable.get(variable)
    if (!leaf) problems.push(`${variable}: is no setting`)
    else if (text !== undefined && text !== '') setAt(tree, leaf.path, fromText(leaf.schema, text))
  }
}

function setAt(tree: Tree, path: readonly string[], value: unknown): void {
  const [first, ...rest] = path
  if (first === undefined) return
  if (rest.length === 0) {
    tree[first] = value
    return
  }
  const child = tree[first]
  const branch: Tree = isTree(child) ? child : {}
  tree[first] = branch
  setAt(branch, rest, value)
}

const writtenAsYaml = [z.ZodNumber, z.ZodBoolean, z.ZodArray, z.ZodRecord]

/** Numbers, truth values, lists and maps are written as in YAML; all else is taken as it is. */
function fromText(schema: z.ZodType, text: string): unknown {
  const inner = unwrapped(schema)
  if (!writtenAsYaml.some((kind) => inner instanceof kind)) return text
  try {
    return parse(text) as unknown
  } catch {
    return text
  }
}

/** Settings whose values are never shown. */
const secretNames: ReadonlySet<string> = new Set(['password', 'loginId', 'clientSecret'])

function describeIssue(issue: z.core.$ZodIssue, tree: Tree): string {
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${[...path, key].join('.')}: is no setting`).join('\n  - ')
  }
  const value = path.reduce<unknown>((at, key) => (isTree(at) ? at[key] : undefined), tree)
  const name = path.join('.')
  const isSetting = settingLeaves().some((leaf) => leaf.path.join('.') === name)
  const variable = isSetting ? `; variable ${variableName(path)}` : ''
  return `${name}: ${issue.message}${shownValue(path, value, issue)}${variable}`
}

/** A group of settings may hold a secret, and so may an address where none belongs. */
function shownValue(path: readonly string[], value: unknown, issue: z.core.$ZodIssue): string {
  const name = path.at(-1) ?? ''
  const isGroup = isTree(value) || (issue.code === 'invalid_type' && issue.expected === 'object')
  const isAddress = name === 'url' || name.endsWith('Url')
  if (value === undefined || isGroup || isAddress || secretNames.has(name)) return ''
  return ` (got ${JSON.stringify(value)})`
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value)
    Object.values(value).forEach(deepFreeze)
  }
  return value
}

/** A path as given when it exists, else the file of that name that ships with the program. */
export function shippedOr(path: string): string {
  return existsSync(path) ? resolve(path) : resolve(packageRoot, path)
}
