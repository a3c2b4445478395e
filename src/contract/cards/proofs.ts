import * as v from 'valibot'
import { Gate } from '../boards/gates.ts'
import { Count, Id, refTo, Time } from '../fields.ts'
import { ofCard } from '../notFound.ts'
import { get, member, post, viewer } from '../route.ts'

/**
 * - `passed`, `failed`: the command exited with 0, or with another code or after its time limit; the reviewer approved, or requested changes.
 * - `error`: the command could not run, was stopped, or changed files of the card; the reviewer ended without a review.
 * - `superseded`: the files or the gate have changed since.
 */
export const proofStatuses = ['queued', 'running', 'passed', 'failed', 'error', 'superseded'] as const
export type ProofStatus = (typeof proofStatuses)[number]

/**
 * The result of a gate for the files of a card. `summary` is one line: the reason, or the last line of the output. `requestedBy` is null if
 * the board asked for the check. `agent`, `sessionId` and `costUsd` are those of a reviewer, otherwise null.
 */
export const Proof = v.object({
  id: Id,
  cardId: Id,
  gateId: Id,
  status: v.picklist(proofStatuses),
  exitCode: v.nullable(v.number()),
  summary: v.string(),
  requestedBy: v.nullable(v.string()),
  agent: v.nullable(v.string()),
  sessionId: v.nullable(Id),
  costUsd: v.nullable(v.number()),
  createdAt: Time,
  startedAt: v.nullable(Time),
  finishedAt: v.nullable(Time),
})
/** `output` is the last 1 MiB of the command's output, or of the reviewer's transcript, `outputStart` the number of UTF-16 units before it. */
export const ProofDetail = v.object({ ...Proof.entries, output: v.string(), outputStart: Count })

/**
 * A gate that is ahead of a card. `passed` is true if the card has passed it with its current files. Otherwise, `reason` is what is missing.
 * `proof` is the latest result of a command or a reviewer. `approvedBy` are the names of those whose approval of the current files counts.
 */
const CardGate = v.object({
  gate: Gate,
  passed: v.boolean(),
  reason: v.nullable(v.string()),
  proof: v.nullable(Proof),
  approvedBy: v.array(v.string()),
})

const path = '/api/projects/{projectId}/cards/{cardId}/proofs'

/** The routes of a card's proofs. */
export const proofs = {
  list: get(path, {
    notFound: ofCard,
    at: 'machine',
    who: viewer('agents.read'),
    summary: 'List the gates ahead of a card with their latest proofs',
    details: "These are the gates of the card's column, of the later columns of its board, and of the merge.",
    tool: { name: 'list_proofs', title: 'List proofs', group: 'review', does: 'reads' },
    output: v.array(CardGate),
  }),
  get: get(`${path}/{proofId}`, {
    notFound: { ...ofCard, proofId: 'PROOF_NOT_FOUND' },
    at: 'machine',
    who: viewer('agents.read'),
    summary: 'Get a proof with its output, live while it runs',
    output: ProofDetail,
  }),
  check: post(path, {
    fails: ['GATE_NOT_FOUND', 'AGENT_ALREADY_RUNNING'],
    notFound: ofCard,
    audited: { target: 'card', detail: ['gateId'] },
    at: 'machine',
    who: member('scripts.run'),
    tool: { name: 'check_card', title: 'Check a card', group: 'run', does: 'changes', openWorld: true },
    summary: "Check a card: run its gates that have no valid proof for the card's files",
    details:
      'If gateId is omitted, the gates of its column and those of the merge run. If one of them is a review, or the card can start automatically, an API key also needs the permission agents.run. Gates that passed for the same files do not run again.',
    input: v.optional(v.strictObject({ gateId: v.optional(refTo('GATE_NOT_FOUND')) }), {}),
    output: v.array(Proof),
    status: 202,
    emits: ['proof.updated'],
  }),
  cancel: post(`${path}/cancel`, {
    notFound: ofCard,
    at: 'machine',
    who: member('scripts.run'),
    summary: "Stop a card's queued and running checks",
  }),
}
