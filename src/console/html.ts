/** Writes HTML. Whatever is put into a template is escaped, unless it is the result of another one. */
import { html as write } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'

export type Html = HtmlEscapedString

/** Nothing that is put into a template may be a promise. */
export const html = write as (parts: TemplateStringsArray, ...values: readonly Value[]) => Html

type Value = Html | string | number | boolean | null | undefined | readonly Value[]

export const nothing = html``
