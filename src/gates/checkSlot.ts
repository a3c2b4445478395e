import { setTimeout as delay } from 'node:timers/promises'
import type { Supervisor } from '../agents/sessions/agentSupervisor.ts'
import { Problem } from '../contract/errors.ts'
import type { ProjectRow } from '../store/projects/projects.ts'

const retryMs = 1000

/** A slot of this machine for a command. `hasWaited`: the card's files can have changed in the meantime. */
export interface CheckSlot {
  release: () => void
  hasWaited: boolean
}

export const noSlot: CheckSlot = { release: () => {}, hasWaited: false }

/** Waits for a slot of this machine, or until the check is stopped. */
export async function takeCheckSlot(
  supervisor: Pick<Supervisor, 'holdSlot'>,
  project: Pick<ProjectRow, 'id' | 'agentSlots'>,
  isStopped: () => boolean,
): Promise<CheckSlot> {
  const holder = { agent: '', projectId: project.id, projectSlots: project.agentSlots }
  for (let hasWaited = false; !isStopped(); hasWaited = true) {
    const check = { ...holder, credentialId: null, credentialSlots: null }
    const release = await supervisor.holdSlot(check).catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'CONFLICT') return undefined
      throw error
    })
    if (release) return { release, hasWaited }
    await delay(retryMs, undefined, { ref: false })
  }
  return { ...noSlot, hasWaited: true }
}
