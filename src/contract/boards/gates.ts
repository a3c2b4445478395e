import * as v from 'valibot'
import { Count, Id, integer, Name, Order, refTo, ShellCommand } from '../fields.ts'
import { ofProject } from '../notFound.ts'
import { del, get, manager, post, put, viewer } from '../route.ts'

/** The maximum number of gates of a project. */
export const maxGates = 50
/** How often a card in auto mode goes back to its agent because its gates failed. */
export const GateRounds = integer(0, 20)
export const defaultGateRounds = 3
/** The longest time limit of a gate's command. */
export const maxGateMinutes = 24 * 60

/**
 * A command that must succeed for a card's files. Without `columnId`, the card must pass the gate before it is merged, otherwise before it
 * moves forward from the column. `minutes` is the time limit of the command.
 */
export const Gate = v.object({
  id: Id,
  columnId: v.nullable(Id),
  name: v.string(),
  command: v.string(),
  minutes: Count,
  position: Count,
})
const fields = {
  name: Name,
  command: ShellCommand,
  columnId: v.nullable(refTo('COLUMN_NOT_FOUND')),
  minutes: integer(1, maxGateMinutes),
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
    summary: 'Create a gate: a command that must succeed before a card moves on or is merged',
    details:
      "The command runs in the card's worktree, in the sandbox of the project's agents. With columnId, cards need it to leave that column forward; without, to be merged.",
    input: v.strictObject({
      ...fields,
      columnId: v.optional(fields.columnId, null),
      minutes: v.optional(fields.minutes, 30),
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
    details: 'After a change of the command, all cards must pass the gate again.',
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
