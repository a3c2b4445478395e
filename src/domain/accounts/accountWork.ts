import type { Transaction } from '../../store/engine/database.ts'
import { deleteInvitations } from '../../store/projects/invitations.ts'
import { listProjectMonitors } from '../../store/automation/monitors.ts'
import { listOwnedProjects } from '../../store/projects/projects.ts'
import { listRuns } from '../../store/automation/scripts.ts'
import { openSessionsOf } from '../../store/agents/sessions.ts'
import { listSchedules } from '../../store/automation/schedules.ts'
import { disableWebhooks } from '../../store/automation/webhooks.ts'
import * as monitors from '../automation/monitors.ts'
import { disable } from '../automation/schedules.ts'
import * as scripts from '../automation/scripts.ts'
import { cancelled, end, type Agents } from '../agents/sessions.ts'

/** The runners of agents and scripts. */
export interface Runners {
  agents: Agents
  scripts: scripts.ScriptRuns
}

/**
 * Ends the work in an account's own projects (sessions, scripts, monitors, webhooks, invitations), and in all projects the agents that use
 * its credentials. Cards and members stay.
 * @returns the projects
 */
export async function endWorkOf(tx: Transaction, runners: Runners, userId: number): Promise<number[]> {
  for (const sessionId of await openSessionsOf(tx, userId)) await end(tx, runners.agents, sessionId, cancelled)
  const owned = await listOwnedProjects(tx, userId)
  for (const projectId of owned) {
    for (const { id: monitorId } of await listProjectMonitors(tx, projectId))
      await monitors.remove(tx, { projectId, monitorId })
    for (const { scriptId, status } of await listRuns(tx, projectId))
      if (status === 'running')
        await scripts.cancel(tx, runners.scripts, { projectId, scriptId }, { displayName: 'the server', email: '' })
    for (const schedule of await listSchedules(tx, projectId))
      if (schedule.enabled === 1)
        await disable(
          tx,
          schedule,
          'The account that owned the project was deleted. Enable the schedule again to take it over.',
        )
    await disableWebhooks(tx, projectId)
    await deleteInvitations(tx, projectId)
  }
  return owned
}
