import * as v from 'valibot'
import { maxAssignees, people } from '../cards/cardPlan.ts'
import {
  AccountId,
  AccountRef,
  AgentId,
  Count,
  Id,
  integer,
  Name,
  Order,
  Prompt,
  refTo,
  ShellCommand,
} from '../fields.ts'
import { ofProject } from '../notFound.ts'
import { del, get, manager, post, put, viewer } from '../route.ts'

/** The maximum number of gates of a project. */
export const maxGates = 50
/** How often a card in auto mode goes back to its agent because its gates failed. */
export const GateRounds = integer(0, 20)
export const defaultGateRounds = 3
/** The longest time limit of a gate. */
export const maxGateMinutes = 24 * 60

export const gateKinds = ['command', 'approval', 'review'] as const
export type GateKind = (typeof gateKinds)[number]
export const approverRoles = ['member', 'admin'] as const
export type ApproverRole = (typeof approverRoles)[number]

/**
 * A condition for cards: if `columnId` is null, before the merge, otherwise before a card moves forward from that column. The fields of
 * another kind are null.
 * - `command`: a command that succeeds for the card's files. `minutes` is its time limit.
 * - `approval`: reviews of the card's files by `approvals` people who approve. They have at least the role `approverRole` in the project,
 *   and are among `approverIds` unless that is empty.
 * - `review`: an agent that reviews the card's files in a read-only sandbox, and approves. It is `agent` with `profile`, or the card's own
 *   agent in a new session if both are null. `prompt` is added to the board's instructions. `minutes` is its time limit.
 */
export const Gate = v.object({
  id: Id,
  columnId: v.nullable(Id),
  name: v.string(),
  kind: v.picklist(gateKinds),
  command: v.nullable(v.string()),
  minutes: v.nullable(Count),
  approvals: v.nullable(Count),
  approverRole: v.nullable(v.picklist(approverRoles)),
  approverIds: v.nullable(v.array(AccountId)),
  agent: v.nullable(v.string()),
  profile: v.nullable(v.string()),
  prompt: v.nullable(v.string()),
  position: Count,
})
const fields = {
  name: Name,
  columnId: v.nullable(refTo('COLUMN_NOT_FOUND')),
  command: v.optional(ShellCommand),
  minutes: v.optional(integer(1, maxGateMinutes)),
  approvals: v.optional(integer(1, maxAssignees)),
  approverRole: v.optional(v.picklist(approverRoles, 'must be member or admin')),
  approverIds: v.optional(people(AccountRef)),
  agent: v.optional(v.nullable(AgentId)),
  profile: v.optional(v.nullable(AgentId)),
  prompt: v.optional(Prompt),
}

/** The routes of a project's gates. */
export const gates = {
  list: get('/api/projects/{projectId}/gates', {
    notFound: ofProject,
    who: viewer('boards.read'),
    summary: "List a project's gates in the order in which they run",
    output: v.array(Gate),
  }),
  create: post('/api/projects/{projectId}/gates', {
    fails: ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
    notFound: ofProject,
    audited: { target: 'gate', id: 'id' },
    who: manager('gates.write'),
    summary:
      'Create a gate: a command, approvals or a review by an agent that a card needs before it moves on or is merged',
    details:
      "With columnId, cards need it to leave that column forward; without, to be merged. kind command requires command, which runs in the card's worktree, in the sandbox of the project's agents. kind approval requires that people approve the card's files in a review; agents and API keys do not count. kind review starts an agent that reviews the card's files in a read-only sandbox, which uses tokens.",
    input: v.strictObject({
      ...fields,
      kind: v.optional(v.picklist(gateKinds, 'must be command, approval or review'), 'command'),
      columnId: v.optional(fields.columnId, null),
    }),
    output: Gate,
    idempotent: true,
    status: 201,
    emits: ['gate.created'],
  }),
  reorder: put('/api/projects/{projectId}/gates/reorder', {
    fails: ['INVALID_ORDER'],
    notFound: ofProject,
    who: manager('gates.write'),
    summary: "Reorder a project's gates",
    input: Order,
    output: v.array(Gate),
    emits: ['gate.updated'],
  }),
  update: put('/api/projects/{projectId}/gates/{gateId}', {
    fails: ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
    notFound: { ...ofProject, gateId: 'GATE_NOT_FOUND' },
    audited: { target: 'gate' },
    who: manager('gates.write'),
    summary: 'Update a gate',
    details:
      'The kind cannot change. After a change of the command, the reviewer or its prompt, all cards must pass the gate again.',
    input: v.partial(v.strictObject(fields)),
    output: Gate,
    emits: ['gate.updated'],
  }),
  delete: del('/api/projects/{projectId}/gates/{gateId}', {
    notFound: { ...ofProject, gateId: 'GATE_NOT_FOUND' },
    audited: { target: 'gate' },
    who: manager('gates.write'),
    summary: 'Delete a gate with its proofs',
    details: 'A check that is running is stopped.',
    emits: ['gate.deleted'],
  }),
}
