import { createClient, type ApiFailure, type Client } from '../../src/client/index.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { inItsProject, type CardPlace } from './cardApi.ts'
import { cardIdOf } from './cardIds.ts'
import { requireUser, type Context } from '../context/context.ts'
import { Failure, usage } from '../failures/failure.ts'

export type Monitor = Output<Contract['monitors']['create']>

/** The token's lifetime, which is long enough for one command. */
const tokenSecs = 300

/**
 * The monitors of a card. With an agent token, those of its own card. Users can also list and delete monitors of a card that
 * is not active.
 */
export interface CardMonitors {
  projectId: string
  list(): Promise<Monitor[]>
  /** @throws ApiFailure CONFLICT if the card is not active and the caller is a person */
  add(
    monitor: Pick<Parameters<Client['monitors']['create']>[0], 'command' | 'intervalSecs' | 'description' | 'cwd'>,
  ): Promise<Monitor>
  delete(monitorId: string): Promise<void>
}

export async function readMonitors(context: Context, cardId: string): Promise<CardMonitors> {
  if (context.connection.token?.startsWith('svc_at_'))
    return byAgent(context.client, agentsPlace(context, cardIdOf(cardId)))
  return inItsProject(context, cardId, async place => {
    // An API key can read monitors, but cannot create agent tokens.
    if (context.external) return byPerson(context, place)
    try {
      const { token } = await context.client.agents.token({ ...place, ttlSecs: tokenSecs })
      return byAgent(createClient({ ...context.connection, token }), place)
    } catch (error) {
      if ((error as ApiFailure).code !== 'CONFLICT') throw error
      return byPerson(context, place, error)
    }
  })
}

/** Returns the agent's own card, from its environment variables. */
function agentsPlace({ selection }: Context, cardId: string): CardPlace {
  const projectId = selection.project?.value ?? process.env.BOARD_PROJECT_ID
  if (!projectId)
    throw usage('no project is specified', { hint: 'an agent token requires the ID of its project: -P ID' })
  return { projectId, cardId }
}

const byAgent = ({ monitors }: Client, place: CardPlace): CardMonitors => ({
  projectId: place.projectId,
  list: () => monitors.list(place),
  add: monitor => monitors.create({ ...place, ...monitor, allowUnsandboxed: true }),
  delete: monitorId => monitors.delete({ ...place, monitorId }),
})

function byPerson(context: Context, { projectId, cardId }: CardPlace, why?: unknown): CardMonitors {
  const { monitors } = context.client
  const list = async () => (await monitors.listProject({ projectId })).filter(monitor => monitor.cardId === cardId)
  return {
    projectId,
    list,
    add: async () => {
      requireUser(context, 'monitors add')
      throw why
    },
    delete: async monitorId => {
      requireUser(context, 'monitors delete')
      if (!(await list()).some(({ id }) => id === monitorId))
        throw new Failure('notFound', `card ${cardId} has no monitor ${monitorId}`, {
          see: `board monitors list ${cardId}`,
        })
      await monitors.deleteProject({ projectId, monitorId })
    },
  }
}
