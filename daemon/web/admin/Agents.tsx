import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Rows } from '../ui/Rows.tsx'
import { usePoll } from '../ui/usePoll.ts'

type Provider = Output<Contract['agents']['providers']>[number]
type Check = NonNullable<Provider['check']>

const installedFirst = async () =>
  (await client.agents.providers()).toSorted((a, b) => Number(b.installed) - Number(a.installed))

/** The agents that the server supports: installed, signed in, and a check of each on request. */
export function Agents() {
  const loaded = useLoad(installedFirst, [])
  const isChecking = loaded.value?.some(({ check }) => check?.status === 'running') ?? false
  usePoll(isChecking, 1000, loaded.reload)
  return (
    <>
      <p>A check starts and stops the program without a model request. Greet sends a short request to the model.</p>
      <Rows of={loaded} label="Agents">
        {agent => <AgentRow agent={agent} reload={loaded.reload} />}
      </Rows>
    </>
  )
}

function AgentRow({ agent, reload }: { agent: Provider; reload: () => Promise<void> }) {
  const { id, name, installed, install, version, tried, signedIn, path, check } = agent
  const run = async (greet: boolean) => {
    await client.agents.check({ agent: id, greet })
    await reload()
  }
  const greet = () =>
    confirm({
      title: `Greet ${name}`,
      text: 'The agent starts and sends one sentence to its model, which costs up to a few thousand tokens.',
      submit: 'Greet',
      isDanger: false,
      run: () => run(true),
    })
  const isRunning = check?.status === 'running'
  return (
    <>
      <div className="what">
        <strong>{name}</strong>
        <div className="dim">
          {installed ? 'installed' : 'not installed'}
          {version !== null && `, version ${version}`}
          {tried !== null && version !== null && tried !== version && ` (tried with ${tried})`}
          {signedIn !== null && (signedIn ? ', signed in' : ', not signed in')}
        </div>
        {path !== null && <code className="dim">{path}</code>}
        {!installed && install !== null && (
          <div>
            Install with <code>{install}</code>
          </div>
        )}
        {check && <Checked {...check} />}
      </div>
      {installed && (
        <>
          <Button aria-label={`Check ${name}`} disabled={isRunning} onClick={() => run(false)}>
            Check
          </Button>
          <Button aria-label={`Greet ${name}: costs tokens`} disabled={isRunning} onClick={greet}>
            Greet…
          </Button>
        </>
      )}
    </>
  )
}

function Checked({ status, greeted, detail, inputTokens, outputTokens }: Check) {
  if (status === 'running') return <div role="status">{greeted ? 'Greeting the agent…' : 'Starting the agent…'}</div>
  const tokens = inputTokens === null ? '' : ` (${inputTokens} tokens in, ${outputTokens ?? 0} out)`
  if (status === 'failed') return <div className="error">The check failed: {detail}</div>
  return <div>{greeted ? `The agent answered${tokens}: ${detail ?? ''}` : 'The agent starts.'}</div>
}
