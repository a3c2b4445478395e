import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { AgentChoice, useKnownAgents } from '../project/Agents.tsx'
import { Await } from '../ui/Page.tsx'
import { Agents } from './Agents.tsx'

/** The agents of the server, and the default agent. */
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
                none="the first installed agent"
                hint="The default for cards, columns and projects that don’t set an agent."
                save={async next => choice.set(await client.settings.setAgents(next))}
              />
            )}
          </Await>
        )}
      </Await>
    </>
  )
}
