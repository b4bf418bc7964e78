/**
 * Exports spans over OTLP/HTTP. The only file that uses OpenTelemetry, and loaded only when
 * `tracing.otlpUrl` is set. Spans wait in a bounded queue, so that a collector that is down or slow
 * costs spans, and nothing else.
 */
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import {
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Decision } from '../domain/decision.js'
import type { Clock, Timers } from '../domain/time/clock.js'
import type { TraceContext } from '../domain/trace/trace-context.js'

export interface TracingOptions {
  /** Base address of the collector. */
  readonly url: string
  readonly serviceName: string
  readonly version: string
  /** Share of the traces without a sampled or unsampled parent that is exported. */
  readonly sampleRatio: number
  readonly clock: Clock
  readonly timers: Timers
}

export interface DecisionSpan {
  readonly context: TraceContext
  end(decision: Decision): void
}

/** How many finished spans wait at most, those that are being sent included. */
const maxQueuedSpans = 2_048
/** Encoding a batch must not delay decisions. */
const maxBatchSpans = 64
const batchDelayMs = 1_000
/** `ExportResultCode.SUCCESS`. */
const exportSuccess = 0
/** Of one batch, its retries included; also how long the program waits at its end. */
const exportTimeoutMs = 2_000

export class Tracing {
  /** Called with the count of spans that were not exported. */
  onDropped: (count: number) => void = () => undefined
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #agent: HttpAgent
  readonly #provider: TracerProvider
  #queued = 0

  constructor({ url, serviceName, version, sampleRatio, clock, timers }: TracingOptions) {
    this.#clock = clock
    this.#timers = timers
    this.#agent = url.startsWith('https:')
      ? new HttpsAgent({ keepAlive: true })
      : new HttpAgent({ keepAlive: true })
    const exporter = new OTLPTraceExporter({
      url: `${url}/v1/traces`,
      timeoutMillis: exportTimeoutMs,
      httpAgentOptions: () => this.#agent,
    })
    const batches = new BatchSpanProcessor({
      exporter: this.#countExported(exporter),
      maxQueueSize: maxQueuedSpans,
      maxExportBatchSize: maxBatchSpans,
      scheduledDelayMillis: batchDelayMs,
      exportTimeoutMillis: exportTimeoutMs,
    })
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({
        'service.name': serviceName,
        'service.version': version,
      }),
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
      spanProcessors: [this.#limitQueue(batches)],
    })
  }

  /** `arrivedAtMs` is on the monotonic clock. Without a parent, the decision begins a trace. */
  startDecision(parent: TraceContext | undefined, arrivedAtMs: number): DecisionSpan {
    const span = this.#startSpan('decision', { kind: SpanKind.SERVER, atMs: arrivedAtMs, parent })
    return {
      context: toTraceContext(span.spanContext()),
      end: ({ id, decision, reason, request }) => {
        span.setAttributes({
          'callgate.decision_id': id,
          'callgate.decision': decision,
          'callgate.reason': reason,
          'callgate.kind': request.callKind,
          'callgate.via': request.via,
        })
        span.end(this.#toEpochMs(this.#timers.monotonicMs()))
      },
    }
  }

  /** Arrow function: a provider's clients get it as a part of their options. */
  readonly startRequest = ({
    source,
    question,
    numbers,
    parent,
  }: {
    readonly source: string
    readonly question: string
    readonly numbers: number
    readonly parent: TraceContext
  }) => {
    const atMs = this.#timers.monotonicMs()
    const span = this.#startSpan(question, { kind: SpanKind.CLIENT, atMs, parent })
    span.setAttributes({
      'callgate.source': source,
      'callgate.question': question,
      'callgate.numbers': numbers,
    })
    return {
      context: toTraceContext(span.spanContext()),
      end: (outcome: string, traces: readonly TraceContext[]) => {
        span.setAttribute('callgate.outcome', outcome)
        if (outcome !== 'answered') span.setStatus({ code: SpanStatusCode.ERROR, message: outcome })
        for (const other of traces) {
          if (other.spanId !== parent.spanId) span.addLink({ context: toSpanContext(other) })
        }
        span.end(this.#toEpochMs(this.#timers.monotonicMs()))
      },
    }
  }

  /** Sends what is queued, for {@link exportTimeoutMs} at most, and leaves no socket. */
  async close(): Promise<void> {
    await this.#provider.shutdown().catch(() => undefined)
    this.#agent.destroy()
  }

  #startSpan(
    name: string,
    about: {
      readonly kind: SpanKind
      readonly atMs: number
      readonly parent: TraceContext | undefined
    },
  ): Span {
    const { kind, atMs, parent } = about
    const context = parent
      ? trace.setSpanContext(ROOT_CONTEXT, { ...toSpanContext(parent), isRemote: true })
      : ROOT_CONTEXT
    const startTime = this.#toEpochMs(atMs)
    return this.#provider.getTracer('callgate').startSpan(name, { kind, startTime }, context)
  }

  #toEpochMs(monotonicMs: number): number {
    return this.#clock.now() - (this.#timers.monotonicMs() - monotonicMs)
  }

  #limitQueue(batches: SpanProcessor): SpanProcessor {
    return {
      onStart: () => undefined,
      onEnd: (span) => {
        if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return
        if (this.#queued >= maxQueuedSpans) return this.onDropped(1)
        this.#queued += 1
        batches.onEnd(span)
      },
      forceFlush: () => batches.forceFlush(),
      shutdown: () => batches.shutdown(),
    }
  }

  #countExported(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, onResult) =>
        exporter.export(spans, (result) => {
          this.#queued -= spans.length
          if (result.code !== exportSuccess) this.onDropped(spans.length)
          onResult(result)
        }),
      shutdown: () => exporter.shutdown(),
    }
  }
}

function toTraceContext({ traceId, spanId, traceFlags }: SpanContext): TraceContext {
  return { traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 }
}

function toSpanContext({ traceId, spanId, isSampled }: TraceContext): SpanContext {
  return { traceId, spanId, traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE }
}
