/** What operators and their machines ask: is it alive, is it ready, what does it measure. */
import type { Reply } from '../api/endpoint.js'
import type { Eventually } from '../domain/compliance.js'
import type { Logger } from '../log.js'

export interface Readiness {
  readonly ready: boolean
  /** For people: what is missing, or what it rests on. */
  readonly detail?: string | undefined
}

export interface ReadinessCheck {
  readonly name: string
  /** One that throws is not ready. */
  check(): Eventually<Readiness>
}

export interface Ops {
  readonly checks: readonly ReadinessCheck[]
  readonly metricsText: () => Promise<{ readonly contentType: string; readonly body: string }>
}

/**
 * The answers by path: `/healthz` is 200 whenever the loop turns, `/readyz` is 200 or 503 with
 * every check named, `/metrics` is for Prometheus. None of them asks for a key.
 */
export function opsAnswers(
  { checks, metricsText }: Ops,
  logger: Logger,
): ReadonlyMap<string, () => Eventually<Reply>> {
  return new Map<string, () => Eventually<Reply>>([
    ['/healthz', () => ({ json: { status: 'ok' } })],
    ['/readyz', () => readiness(checks, logger)],
    [
      '/metrics',
      async () => {
        const { contentType, body } = await metricsText()
        return { contentType, text: body }
      },
    ],
  ])
}

async function readiness(checks: readonly ReadinessCheck[], logger: Logger): Promise<Reply> {
  const results = await Promise.all(checks.map((check) => resultOf(check, logger)))
  const ready = results.every((result) => result.ready)
  return { status: ready ? 200 : 503, json: { ready, checks: results } }
}

async function resultOf({ name, check }: ReadinessCheck, logger: Logger) {
  try {
    const { ready, detail } = await check()
    return { name, ready, detail }
  } catch (error) {
    logger.error('readiness check failed', { check: name, err: error })
    return { name, ready: false, detail: 'the check itself failed; the cause has been logged' }
  }
}
