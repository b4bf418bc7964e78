/** Forms of the console: what they show, and what was wrong with what they sent. */
import { type AppError, describeProblem, type FieldProblem, invalidRequest } from '../errors.js'
import { type Html, html, nothing } from './html.js'

/** What a form has sent, or shows again; empty where nothing is. */
export type FormValues = Readonly<Record<string, string>>

export interface FieldOptions {
  readonly name: string
  readonly label: string
  readonly type?:
    | 'text'
    | 'count'
    | 'tel'
    | 'date'
    | 'datetime-local'
    | 'password'
    | 'textarea'
    | 'file'
  readonly hint?: string
  readonly required?: boolean
  /** Values with what they are called; the first one is chosen if none was. */
  readonly choices?: readonly (readonly [value: string, name: string])[]
  readonly autocomplete?: string
}

interface BoxesOptions extends Pick<FieldOptions, 'name' | 'label' | 'hint'> {
  readonly choices: NonNullable<FieldOptions['choices']>
}

/** The fields of one form. */
export class Form {
  readonly #values: FormValues
  readonly #problems: ReadonlyMap<string, string>

  constructor(values: FormValues = {}, refusal?: AppError) {
    this.#values = values
    const problems = (refusal?.problems ?? []).map(({ field, rule }): [string, string] => [
      toInputName(field),
      rule,
    ])
    this.#problems = new Map(problems)
  }

  /** Boxes of which any may be checked; their values come with commas between them. */
  boxes({ name, label, hint, choices }: BoxesOptions): Html {
    const checked = new Set((this.#values[name] ?? '').split(','))
    const problem = this.#problems.get(name)
    const notes = [hint && `${name}-hint`, problem && `${name}-problem`].filter(Boolean).join(' ')
    return html`<fieldset id="${name}" tabindex="-1"${notes ? html` aria-describedby="${notes}"` : nothing}><legend>${label}</legend>
${hint ? html`<span class="hint" id="${name}-hint">${hint}</span>` : nothing}
${problem ? html`<span class="problem" id="${name}-problem">${problem}</span>` : nothing}
${choices.map(
  ([value, text]) =>
    html`<label class="box"><input type="checkbox" name="${name}" value="${value}"${checked.has(value) ? html` checked` : nothing}> ${text}</label>`,
)}</fieldset>`
  }

  field({ name, label, type = 'text', hint, required, choices, autocomplete }: FieldOptions): Html {
    const value = this.#values[name] ?? ''
    const problem = this.#problems.get(name)
    const notes = [hint && `${name}-hint`, problem && `${name}-problem`].filter(Boolean).join(' ')
    const attributes = html`id="${name}" name="${name}"${notes ? html` aria-describedby="${notes}"` : nothing}${
      problem ? html` aria-invalid="true"` : nothing
    }${required ? html` required` : nothing}`
    return html`<p class="field"><label for="${name}">${label}</label>
${hint ? html`<span class="hint" id="${name}-hint">${hint}</span>` : nothing}
${problem ? html`<span class="problem" id="${name}-problem">${problem}</span>` : nothing}
${choices ? renderChoices(choices, value, attributes) : renderInput(type, value, attributes, autocomplete)}</p>`
  }
}

/** The input of a field of the API: that of `kinds[1]` is `kinds`. */
const toInputName = (field: string) => field.replace(/[[.].*/s, '')

function renderChoices(
  choices: NonNullable<FieldOptions['choices']>,
  value: string,
  attributes: Html,
): Html {
  return html`<select ${attributes}>${choices.map(
    ([one, name]) =>
      html`<option value="${one}"${one === value ? html` selected` : nothing}>${name}</option>`,
  )}</select>`
}

function renderInput(type: string, value: string, attributes: Html, autocomplete = 'off'): Html {
  if (type === 'textarea') return html`<textarea rows="8" ${attributes}>${value}</textarea>`
  if (type === 'count') return renderInput('text', value, html`inputmode="numeric" ${attributes}`)
  const shown = type === 'file' || type === 'password' ? nothing : html` value="${value}"`
  return html`<input type="${type}" autocomplete="${autocomplete}"${shown} ${attributes}>`
}

const maxSoughtLength = 200

/** What a form looks for, to be put into an address. Throws `invalid-request` for what is too long for one. */
export function readSought(form: FormValues, names: readonly string[]): FormValues {
  const rule = `must not be longer than ${maxSoughtLength} characters`
  const values = names.map((name): [string, string] => [name, (form[name] ?? '').trim()])
  const problems = values
    .filter(([, text]) => text.length > maxSoughtLength)
    .map(([field, value]) => ({ field, value, rule }))
  if (problems.length > 0) throw invalidRequest(problems)
  return Object.fromEntries(values)
}

/** What people enter for a number: without punctuation, and without the country code. */
export function toDigits(text: string): string {
  return text.replace(/[\s().\-+]/g, '').replace(/^1(?=\d{10}$)/, '')
}

/** An instant of a local field of a browser, which has no zone; anything else as it is. */
export function toInstantText(text: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text) ? `${text}:00Z` : text
}

/** What was refused, at the top of a page, with a link to each field of the form. */
export function renderRefusal(refusal: AppError | undefined): Html {
  if (!refusal) return nothing
  const { problems, message } = refusal
  const renderProblem = (problem: FieldProblem) => {
    const text = describeProblem(problem)
    return problem.field === ''
      ? html`<li>${text}</li>`
      : html`<li><a href="#${toInputName(problem.field)}">${text}</a></li>`
  }
  return html`<div class="refusal" role="alert" tabindex="-1">
<h2>Nothing was done</h2>
${problems.length > 0 ? html`<ul>${problems.map(renderProblem)}</ul>` : html`<p>${message}</p>`}
</div>`
}

/** What was done, at the top of a page. */
export function renderDone(text: string | undefined): Html {
  return text === undefined ? nothing : html`<p class="done" role="status">${text}</p>`
}
