/** What only a running server can report, and whether what it connects to can be reached. */
import { findProblem, fixes } from '../../app/status/check-problems.js'
import { resolveAriServers } from '../../asterisk/ari/ari-servers.js'
import type { Settings } from '../../config/settings.js'
import { getErrorMessage } from '../../errors.js'
import type { Readiness } from '../../http/health.js'
import type { HealthFinding } from './finding.js'

/** Longest wait for the server, a provider or an Asterisk. */
const maxWaitMs = 2_000

/** Checks that the doctor makes itself, from the same files and with the same code as the server. */
const ownChecks: ReadonlySet<string> = new Set(['calls', 'clock', 'lists', 'numbering'])

interface ReadyzBody {
  readonly checks: readonly (Readiness & { readonly name: string })[]
}

/** Without what the server says of a check that the doctor has found at fault itself. */
export function withoutRepeated(
  server: readonly HealthFinding[],
  own: readonly HealthFinding[],
): readonly HealthFinding[] {
  const isOwn = (subject: string) =>
    ownChecks.has(subject) && own.some((one) => one.level === 'now' && one.subject === subject)
  return server.filter(({ subject }) => !isOwn(subject))
}

/** If the server does not answer, tries the addresses of providers and of each Asterisk. */
export async function findServerFindings(
  settings: Settings,
  url: string,
): Promise<readonly HealthFinding[]> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(maxWaitMs) })
    return describeReadyz(url, (await response.json()) as Partial<ReadyzBody>)
  } catch (cause) {
    const stopped: HealthFinding = {
      level: 'now',
      subject: 'server',
      problem: `no callgate answers at ${url} (${describeFailure(cause)}), so no call is decided`,
      fix: 'start it, or name its address with --url',
    }
    return [stopped, ...(await findUnreachable(settings))]
  }
}

function describeReadyz(url: string, { checks }: Partial<ReadyzBody>): readonly HealthFinding[] {
  if (!Array.isArray(checks)) {
    const problem = `what answers at ${url} is not a callgate`
    return [{ level: 'now', subject: 'server', problem, fix: 'name its address with --url' }]
  }
  return (checks as ReadyzBody['checks']).flatMap((check): readonly HealthFinding[] => {
    if (check.failing) {
      return check.failing.map(({ account, problem: why, fix }) => {
        const problem = `calls of account ${account} are blocked: ${why}`
        return { level: 'now', subject: 'decisions', account, problem, fix }
      })
    }
    const found = findProblem(check)
    return found ? [{ level: 'now', subject: check.name, ...found }] : []
  })
}

async function findUnreachable(settings: Settings): Promise<readonly HealthFinding[]> {
  const { source } = settings
  const providers =
    source.kind === 'remote'
      ? [source.provider, source.secondProvider].flatMap(({ baseUrl }) => baseUrl ?? [])
      : []
  const tried = await Promise.all([
    ...providers.map((url) => tryAddress('source', url)),
    ...listAsteriskUrls(settings).map((url) => tryAddress('asterisk', url)),
  ])
  return tried.flatMap((finding) => finding ?? [])
}

/** Empty if the password cannot be read; the settings have been checked before. */
function listAsteriskUrls({ asterisk }: Settings): readonly string[] {
  try {
    return resolveAriServers(asterisk).map(({ url }) => url)
  } catch {
    return asterisk.url === undefined ? [] : [new URL(asterisk.url).origin]
  }
}

/** Any answer means that it can be reached. No key or password is sent. */
async function tryAddress(subject: string, url: string): Promise<HealthFinding | undefined> {
  try {
    await fetch(url, { signal: AbortSignal.timeout(maxWaitMs), redirect: 'manual' })
    return undefined
  } catch (cause) {
    const problem = `${new URL(url).origin} cannot be reached: ${describeFailure(cause)}`
    return { level: 'now', subject, problem, fix: fixes[subject] ?? '' }
  }
}

/** `fetch` gives the reason, such as a refused connection, as the cause of its error. */
function describeFailure(error: unknown): string {
  return getErrorMessage(error instanceof Error && error.cause ? error.cause : error)
}
