import { decisionIdOf, firstText, idsOf, instantOf, objectAt, textOf } from '../fields.js'
import { classifyEnd, type EventSource, type ReadPlatformEvent, toOutcome } from '../reading.js'
import { joinNotes, readAnalysis } from '../signals.js'
import { firstTranscript, readLabeledText, readUtterances } from '../transcript.js'

export const readBland: ReadPlatformEvent = (source) => {
  const { fields, data } = source
  const utterances = firstTranscript(
    readUtterances(fields.transcripts, { role: 'user', text: ['text'] }),
    readLabeledText(fields.concatenated_transcript, true),
  )
  const { optOut, notes } = joinNotes([
    readAnalysis(fields.analysis, data.signals),
    // Variables hold what the customer has sent, too, which is no text about the call.
    { optOut: readAnalysis(fields.variables, data.signals).optOut, notes: [] },
  ])
  const metadata = [objectAt(fields, 'metadata'), objectAt(fields, 'variables', 'metadata')]
  const isReport = fields.queue_status !== undefined || fields.transcripts !== undefined
  return {
    type: firstText(fields.category, isReport ? 'post-call' : undefined) ?? 'unknown',
    decisionId: metadata
      .map(({ callgate_decision: id }) => decisionIdOf(id))
      .find((id) => id !== undefined),
    callIds: idsOf(fields.call_id, fields.c_id),
    direction: readDirection(fields.inbound),
    from: textOf(fields.from),
    to: textOf(fields.to),
    outcome: isReport ? readOutcome(source) : undefined,
    isAnswered: instantOf(fields.started_at) !== undefined,
    isEnd: isReport,
    utterances,
    isWholeTranscript: utterances.length > 0,
    summary: [textOf(fields.summary), ...notes],
    optOut,
  }
}

function readDirection(inbound: unknown): 'inbound' | 'outbound' | undefined {
  if (inbound === true || inbound === 'true') return 'inbound'
  return inbound === false || inbound === 'false' ? 'outbound' : undefined
}

function readOutcome({ fields, data }: EventSource) {
  const found = classifyEnd(data, [
    ['bland.answered_by', fields.answered_by],
    ['bland.queue_status', fields.queue_status],
    ['bland.call_ended_by', fields.call_ended_by],
  ])
  return toOutcome(found, {
    answeredAt: instantOf(fields.started_at),
    endedAt: instantOf(fields.end_at),
    reason: firstText(fields.answered_by, fields.queue_status),
  })
}
