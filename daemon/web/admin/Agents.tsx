import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { ResourceSection, type ResourceRow } from '../ui/ResourceSection.tsx'
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
    <ResourceSection
      of={loaded}
      label="Agents"
      about="A check starts and stops the program without a model request. Greet sends a short request to the model."
      row={rowOf}
    />
  )
}

function rowOf({ id, name, installed, install, version, tried, signedIn, path, check }: Provider): ResourceRow {
  const isRunning = check?.status === 'running'
  return {
    name,
    badges: [!installed && 'not installed', signedIn === true && 'signed in', signedIn === false && 'not signed in'],
    about: (
      <>
        {version !== null && `version ${version}`}
        {tried !== null && version !== null && tried !== version && ` (tried with ${tried})`}
        {path !== null && (
          <div>
            <code>{path}</code>
          </div>
        )}
        {!installed && install !== null && (
          <>
            Install with <code>{install}</code>
          </>
        )}
      </>
    ),
    details: check && <Checked {...check} />,
    actions: installed
      ? [
          { label: 'Check', isDisabled: isRunning, run: () => client.agents.check({ agent: id, greet: false }) },
          {
            label: 'Greet',
            isDisabled: isRunning,
            confirm: {
              title: `Greet ${name}`,
              text: 'The agent starts and sends one sentence to its model, which costs up to a few thousand tokens.',
            },
            run: () => client.agents.check({ agent: id, greet: true }),
          },
        ]
      : [],
  }
}

function Checked({ status, greeted, detail, inputTokens, outputTokens }: Check) {
  if (status === 'running') return <div role="status">{greeted ? 'Greeting the agent…' : 'Starting the agent…'}</div>
  const tokens = inputTokens === null ? '' : ` (${inputTokens} tokens in, ${outputTokens ?? 0} out)`
  if (status === 'failed') return <div className="error">The check failed: {detail}</div>
  return <div>{greeted ? `The agent answered${tokens}: ${detail ?? ''}` : 'The agent starts.'}</div>
}
