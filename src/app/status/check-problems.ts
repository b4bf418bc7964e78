/** What is wrong with a running server, as its checks say, and what to do about it: the words of `callgate doctor`. */

import { countLossFirst } from '../../errors.js'
import type { Readiness } from '../../http/health.js'

/** By the names of checks. */
export const fixes: Readonly<Record<string, string>> = {
  asterisk: 'check its address, user and password, and its ari.conf (docs/asterisk.md)',
  source: 'check the provider’s status and its key; callgate asks it again by itself',
  database: 'check the disk, and do what the message says (docs/operations.md)',
  records:
    'check the disk of the data folder: df -h, dmesg; if a record was changed, run callgate evidence verify (docs/evidence.md)',
  parts:
    'put back the part that is missing or older, or run callgate storage accept --because <what happened> (docs/operations.md)',
  copies:
    'decisions are in the journal of this server, and are sent once this is fixed (docs/edges.md#two-edges-with-copies-of-one-folder)',
  witnesses: `stop the server; restore a later copy${countLossFirst}, or callgate evidence new-origin (docs/witnesses.md)`,
  clock: 'check the time with timedatectl',
  calls: 'run callgate doctor, which has the command for each account',
}

/** `undefined` if nothing is wrong. */
export function findProblem({
  name,
  ready,
  impaired = false,
  detail,
}: Readiness & { readonly name: string }):
  | { readonly problem: string; readonly fix: string }
  | undefined {
  if (ready && !impaired) return undefined
  return {
    problem: detail || 'not ready',
    fix: fixes[name] ?? 'see the log of the server and docs/runbook.md',
  }
}
