import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { AgentChoice, useKnownAgents } from '../project/Agents.tsx'
import { Await } from '../ui/Page.tsx'
import { Agents } from './Agents.tsx'

/** The agents, and which of them works where nothing nearer names one. */
export function AgentSettings() {
  const known = useKnownAgents()
  const choice = useLoad(() => client.settings.getAgents(), [])
  return (
    <>
      <Agents />
      <Await of={known}>
        {agents => (
          <Await of={choice}>
            {value => (
              <AgentChoice
                known={agents}
                value={value}
                none="the first that is installed"
                hint="It holds where no card, column or project names another."
                save={async next => choice.set(await client.settings.setAgents(next))}
              />
            )}
          </Await>
        )}
      </Await>
    </>
  )
}
