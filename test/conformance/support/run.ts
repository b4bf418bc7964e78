/** What a run was given: the server's addresses, keys, and what is known of its numbers. */
import type { Facts } from './facts.js'

export interface Run {
  /** Without a slash at the end, as the three others. */
  readonly baseUrl: string
  readonly rpcUrl: string
  readonly monitorUrl: string
  readonly authUrl: string
  /** Key of role Administrator or Supervisor. */
  readonly loginId: string
  /** Key of another account. */
  readonly secondLoginId?: string
  /** Key of role Agent in the account of `loginId`, where agents may not remove. */
  readonly agentLoginId?: string
  /** Key of an account that may not scan, or has no credits. */
  readonly scanlessLoginId?: string
  /** Key of an account in Canada. */
  readonly canadianLoginId?: string
  /** A key that was valid once. */
  readonly revokedLoginId?: string
  /** Key of an account whose internal list was never written to. */
  readonly unusedLoginId?: string
  /** Of the key `loginId`; a client of OAuth is named by it. */
  readonly accountId?: string
  /** Address of this machine at which the server can reach a receiver of webhooks. */
  readonly receiverHost?: string
  /** Cases may wait for minutes. */
  readonly slow: boolean
  readonly facts: Facts
}

/** The variable in which `scripts/conformance.mjs` hands the run over, as JSON. */
const runVariable = 'CONFORMANCE_RUN'

function readRun(): Run {
  const text = process.env[runVariable]
  if (text !== undefined) return JSON.parse(text) as Run
  throw new Error('start the suite by: npm run conformance -- --base-url <url> --login-id <key>')
}

export const run: Run = readRun()
