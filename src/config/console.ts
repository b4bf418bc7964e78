/** The settings of the console. */
import { z } from 'zod'
import { parseUrl } from '../runtime/parse-url.js'

export const consoleSchema = z.strictObject({
  enabled: z
    .boolean()
    .optional()
    .describe(
      'Whether pages for people are at /console. Default: yes if http.host is a loopback address. With another address ' +
        'console.publicUrl is needed',
    ),
  publicUrl: z
    .string()
    .regex(/^https:\/\/[^\s/?#@]+$/, 'must be https://host or https://host:port, without a path')
    .refine((text) => parseUrl(text) !== undefined, 'must have a valid host and port')
    .optional()
    .describe(
      'Where browsers reach the console, behind a proxy that speaks https: https://callgate.example.com. Requests for another ' +
        'host are refused',
    ),
})

type ConsoleSettings = z.output<typeof consoleSchema>

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/

interface ServedSettings {
  readonly http: { readonly host: string }
  readonly console: ConsoleSettings
}

export function isConsoleEnabled({ http, console }: ServedSettings): boolean {
  return console.enabled ?? (console.publicUrl !== undefined || loopback.test(http.host))
}

export function requireConsole(
  settings: ServedSettings,
  problem: (path: readonly string[], message: string) => void,
): void {
  const { http, console } = settings
  if (console.enabled !== true || console.publicUrl !== undefined || loopback.test(http.host))
    return
  const rule = `must be false, or console.publicUrl be given, since http.host '${http.host}' is not a loopback address`
  problem(['console', 'enabled'], rule)
}
