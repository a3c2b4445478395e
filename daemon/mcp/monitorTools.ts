import * as v from 'valibot'
import { integer, refTo, text } from '../../src/contract/fields.ts'
import { monitorLimits as limits } from '../../src/contract/automation/monitors.ts'
import * as monitors from '../../src/domain/automation/monitors.ts'
import { checkMonitor } from '../../src/monitors/checkMonitor.ts'
import { monitor } from '../../src/views/monitors.ts'
import { defineTool, json } from './tool.ts'

const listMonitors = defineTool({
  name: 'list_monitors',
  card: 'own',
  entries: {},
  description: "List the card's monitors with the results of their latest runs and the end of their output.",
  run: async (app, ref) => json((await monitors.list(app.db, ref)).map(monitor)),
})

const addMonitor = defineTool({
  name: 'add_monitor',
  audited: { action: 'monitors.create', target: 'monitor', params: [] },
  card: 'own',
  at: 'machine',
  description: `Run a shell command on a schedule while the card is active, to watch something during your work. You get a message when it starts to fail (an exit code other than 0) and when it recovers. A card has at most ${limits.maxPerCard} monitors. If you run in a sandbox, the monitor is pending until a person allows it: do not wait for that, continue your work.`,
  entries: {
    command: text(1, limits.maxCommandLength),
    intervalSecs: v.pipe(
      integer(limits.minIntervalSecs, limits.maxIntervalSecs),
      v.description('Seconds between two runs.'),
    ),
    description: v.optional(v.pipe(text(0, limits.maxDescriptionLength), v.description('The purpose of the monitor.'))),
    cwd: v.optional(
      v.pipe(
        text(1, 4096),
        v.description("An absolute path within the project or your worktree. Default: the card's folder."),
      ),
    ),
    allowUnsandboxed: v.pipe(
      v.literal(true),
      v.description("Must be true: the command runs with the server's own permissions."),
    ),
  },
  run: async (app, ref, fields, caller) => {
    const checked = await checkMonitor(app.db, ref, fields, caller)
    return json(monitor(await app.db.transaction(tx => monitors.create(tx, checked))))
  },
})

const deleteMonitor = defineTool({
  name: 'delete_monitor',
  audited: { action: 'monitors.delete', target: 'monitor', params: ['monitorId'] },
  card: 'own',
  entries: { monitorId: refTo('MONITOR_NOT_FOUND') },
  description: 'Delete a monitor of the card. A running command is stopped with all of its processes.',
  run: async (app, ref, { monitorId }) => {
    await app.db.transaction(tx => monitors.remove(tx, { ...ref, monitorId }))
    return json({ id: String(monitorId), deleted: true })
  },
})

/** The tools of monitors, by their names. */
export const monitorTools = { list_monitors: listMonitors, add_monitor: addMonitor, delete_monitor: deleteMonitor }
