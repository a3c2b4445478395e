import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { showError } from '../app/messages.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { useProject } from '../app/projects.ts'
import { Check, Choice } from '../ui/Inputs.tsx'
import { plainText } from '../ui/plainText.ts'
import { Heading } from './Heading.tsx'
import { useCanWork } from './canWork.ts'
import { useCard, useOpened } from './openedCard.ts'

type Provider = Output<Contract['agents']['providers']>[number]
interface Offered {
  id: string
  name: string
}

/** Selects the card's agent and its options. Open choices are decided by the column, the project or the server. */
export function AgentChoice() {
  const opened = useOpened()
  const card = useCard()
  const { projectId, cardId } = opened
  const canWork = useCanWork(projectId)
  const offers = useOffers(projectId, card)
  const credentials = useLoad(() => client.credentials.list(), [])
  const place = { projectId, cardId }
  const change = (fields: Parameters<typeof client.cards.update>[0] extends infer T ? Partial<T> : never) =>
    void client.cards.update({ ...place, ...fields }).then(opened.setCard, showError)
  const agent = offers.agents.find(({ id }) => id === card.agent)
  const warning = agent && !agent.installed ? `${agent.name} is not installed. ${agent.install ?? ''}` : undefined
  return (
    <section>
      <Heading>Agent</Heading>
      <div className="card-choices">
        <AgentOption
          label="Agent"
          value={card.agent}
          offered={offers.agents.filter(({ installed, id }) => installed || id === card.agent)}
          isDisabled={!canWork}
          hint={warning}
          onChange={id => change({ agent: id, model: null, mode: null, effort: null })}
        />
        {(offers.profiles.length > 0 || card.profile !== null) && (
          <AgentOption
            label="Profile"
            value={card.profile}
            offered={offers.profiles}
            isDisabled={!canWork}
            onChange={id => change({ profile: id })}
          />
        )}
        {(['model', 'mode', 'effort'] as const).map(kind =>
          offers[`${kind}s`].length > 0 || card[kind] !== null ? (
            <AgentOption
              key={kind}
              label={`${kind[0]!.toUpperCase()}${kind.slice(1)}`}
              value={card[kind]}
              offered={offers[`${kind}s`]}
              isDisabled={!canWork}
              onChange={id => change({ [kind]: id })}
            />
          ) : null,
        )}
        {canWork && (credentials.value?.length ?? 0) > 0 && (
          <CredentialChoice place={place} offered={credentials.value!} />
        )}
      </div>
      <Check
        label="Auto mode"
        hint="The card moves through its pipeline automatically."
        value={card.autoMode}
        disabled={!canWork}
        onChange={enabled => void client.cards.setAutoMode({ ...place, enabled }).then(opened.setCard, showError)}
      />
      <Check
        label="Separate worktree"
        hint="Without a worktree, the agent works in the project’s folder."
        value={card.useWorktree}
        disabled={!canWork}
        onChange={useWorktree => change({ useWorktree })}
      />
    </section>
  )
}

/**
 * Returns the options of the effective agent: the agent of the card, otherwise of its profile, otherwise of the project.
 * Without one, the options of all installed agents.
 */
function useOffers(projectId: string, card: { agent: string | null; profile: string | null }) {
  const read = useLoad(async () => {
    const [agents, profiles] = await Promise.all([client.agents.providers(), client.agentProfiles.list()])
    return { agents, profiles }
  }, [])
  const project = useProject(projectId)
  const { agents = [], profiles = [] } = read.value ?? {}
  const named = card.agent ?? profiles.find(({ name }) => name === card.profile)?.agent ?? project?.agent ?? undefined
  const meant = agents.filter(({ id, installed }) => (named === undefined ? installed : id === named))
  const all = (kind: 'models' | 'modes' | 'efforts'): Offered[] => [
    ...new Map(meant.flatMap((each: Provider) => each[kind].map(one => [one.id, one] as const))).values(),
  ]
  return {
    agents,
    profiles: profiles
      .filter(({ agent }) => card.agent === null || agent === card.agent)
      .map(({ name }) => ({ id: name, name })),
    models: all('models'),
    modes: all('modes'),
    efforts: all('efforts'),
  }
}

interface OptionProps {
  label: string
  value: string | null
  offered: readonly Offered[]
  isDisabled: boolean
  hint?: string
  onChange: (id: string | null) => void
}

const AgentOption = ({ value, offered, isDisabled, onChange, ...rest }: OptionProps) => (
  <Choice
    {...rest}
    isSearched
    value={value ?? ''}
    disabled={isDisabled}
    options={[
      ['', 'Default of the column or project'],
      ...offered.map(({ id, name }) => [id, plainText(name)] as const),
    ]}
    onChange={id => onChange(id || null)}
  />
)

/** Selects a credential. The server never reveals the current credential of a card, so a choice only replaces it. */
function CredentialChoice({
  place,
  offered,
}: {
  place: { projectId: string; cardId: string }
  offered: readonly Offered[]
}) {
  return (
    <Choice
      label="Credential"
      hint="A choice replaces the current credential."
      value="keep"
      options={[
        ['keep', 'Keep the current one'],
        ['none', 'Default of the project'],
        ...offered.map(({ id, name }) => [id, name] as const),
      ]}
      onChange={value =>
        void client.credentials
          .chooseForCard({ ...place, credentialId: value === 'none' ? null : value })
          .catch(showError)
      }
    />
  )
}
