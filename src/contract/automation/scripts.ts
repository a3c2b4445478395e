import * as v from 'valibot'
import { Count, Id, Name, Order, queryInteger, ShellCommand, Time } from '../fields.ts'
import { ofProject } from '../notFound.ts'
import { del, get, member, post, put, viewer } from '../route.ts'

export const Script = v.object({ id: Id, name: v.string(), command: v.string(), position: Count })
/**
 * `output` is the last 64 KiB of the latest run's output, in events the last 4 KiB, `outputStart` the number of UTF-16 units before it.
 * `error` explains why the run could not start, or who cancelled it. A cancelled run ends when all its processes have exited. After a
 * signal, `exitCode` is 128 plus the number of the signal, as in a shell.
 */
export const ScriptStatus = v.object({
  scriptId: Id,
  status: v.picklist(['idle', 'running', 'succeeded', 'failed', 'cancelled']),
  pid: v.nullable(Count),
  exitCode: v.nullable(v.number()),
  error: v.nullable(v.string()),
  startedAt: v.nullable(Time),
  finishedAt: v.nullable(Time),
  output: v.string(),
  outputStart: Count,
})
/** With `since`, `output` starts at that character if it is still stored. */
const ReadStatus = v.strictObject({ scriptId: v.optional(queryInteger(1)), since: v.optional(queryInteger(0)) })

export const scripts = {
  list: get('/api/projects/{projectId}/scripts', {
    notFound: ofProject,
    who: viewer('scripts.read'),
    summary: "List a project's scripts in order",
    output: v.array(Script),
  }),
  create: post('/api/projects/{projectId}/scripts', {
    notFound: ofProject,
    audited: { target: 'script', id: 'id' },
    who: member('scripts.write'),
    summary: "Create a script: a shell command that runs in the project's folder",
    input: v.strictObject({ name: Name, command: ShellCommand }),
    output: Script,
    idempotent: true,
    status: 201,
  }),
  reorder: put('/api/projects/{projectId}/scripts/reorder', {
    fails: ['INVALID_ORDER'],
    notFound: ofProject,
    who: member('scripts.write'),
    summary: "Reorder a project's scripts",
    input: Order,
    output: v.array(Script),
  }),
  status: get('/api/projects/{projectId}/scripts/status', {
    fails: ['SCRIPT_NOT_FOUND'],
    notFound: ofProject,
    at: 'machine',
    who: viewer('scripts.read'),
    summary: 'Get the latest run of each script, or of one script',
    input: ReadStatus,
    output: v.array(ScriptStatus),
  }),
  update: put('/api/projects/{projectId}/scripts/{scriptId}', {
    notFound: { ...ofProject, scriptId: 'SCRIPT_NOT_FOUND' },
    audited: { target: 'script' },
    who: member('scripts.write'),
    summary: "Update a script's name or command",
    details: 'A current run is not affected.',
    input: v.partial(v.strictObject({ name: Name, command: ShellCommand })),
    output: Script,
  }),
  delete: del('/api/projects/{projectId}/scripts/{scriptId}', {
    notFound: { ...ofProject, scriptId: 'SCRIPT_NOT_FOUND' },
    audited: { target: 'script' },
    who: member('scripts.write'),
    summary: 'Delete a script',
    details: 'Its run and all processes of the run are stopped.',
    emits: ['script.finished'],
  }),
  run: post('/api/projects/{projectId}/scripts/{scriptId}/run', {
    fails: ['SCRIPT_ALREADY_RUNNING'],
    notFound: { ...ofProject, scriptId: 'SCRIPT_NOT_FOUND' },
    audited: { target: 'script' },
    at: 'machine',
    who: member('scripts.run'),
    summary: 'Run a script',
    output: ScriptStatus,
    status: 202,
    emits: ['script.started'],
  }),
  cancel: post('/api/projects/{projectId}/scripts/{scriptId}/cancel', {
    fails: ['SCRIPT_NOT_RUNNING'],
    notFound: { ...ofProject, scriptId: 'SCRIPT_NOT_FOUND' },
    at: 'machine',
    who: member('scripts.run'),
    summary: "Stop a script's run with all its processes",
    output: ScriptStatus,
    status: 202,
  }),
}
