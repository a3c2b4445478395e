import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { useProject } from '../app/projects.ts'
import { client } from '../app/session.ts'
import { Combobox } from '../ui/Combobox.tsx'
import { plainText } from '../ui/plainText.ts'
import { agentChange } from './agentChange.ts'
import type { PlanChange } from './Assignees.tsx'
import type { Property } from './Property.tsx'

type Provider = Output<Contract['agents']['providers']>[number]
interface Offered {
  id: string
  name: string
}

interface AgentState {
  card: CardDetail
  offers: ReturnType<typeof useOffers>
  canWork: boolean
  change: (fields: PlanChange) => void
}

const kinds = ['profile', 'model', 'mode', 'effort'] as const

/** The card's agent and its options. Open choices are decided by the column, the project or the server. */
export function agentProperties({ card, offers, canWork, change }: AgentState): Property[] {
  const agent = offers.agents.find(({ id }) => id === card.agent)
  const warning = agent && !agent.installed ? `${agent.name} is not installed. ${agent.install ?? ''}` : undefined
  return [
    {
      label: 'Agent',
      icon: 'agent',
      isSet: true,
      render: () => (
        <>
          <AgentOption
            label="Agent"
            value={card.agent}
            offered={offers.agents.filter(({ installed, id }) => installed || id === card.agent)}
            disabled={!canWork}
            onChange={id => change(agentChange(id))}
          />
          {warning && <p className="hint">{warning}</p>}
        </>
      ),
    },
    ...kinds
      .filter(kind => offers[`${kind}s`].length > 0 || card[kind] !== null)
      .map((kind): Property => {
        const label = `${kind[0]!.toUpperCase()}${kind.slice(1)}`
        return {
          label,
          icon: 'settings',
          isSet: card[kind] !== null,
          render: isNew => (
            <AgentOption
              label={label}
              value={card[kind]}
              offered={offers[`${kind}s`]}
              isNew={isNew}
              disabled={!canWork}
              onChange={id => change({ [kind]: id })}
            />
          ),
        }
      }),
  ]
}

/**
 * Returns the options of the effective agent: the agent of the card, otherwise of its profile, otherwise of the project.
 * Without one, the options of all installed agents.
 */
export function useOffers(projectId: string, card: { agent: string | null; profile: string | null }) {
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
  isNew?: boolean
  disabled: boolean
  onChange: (id: string | null) => void
  onClose?: () => void
}

/** A choice of an option of the agent. A value outside of the offered ones is also shown. */
export function AgentOption({ value, offered, isNew, onChange, ...rest }: OptionProps) {
  const isKnown = value === null || offered.some(({ id }) => id === value)
  return (
    <Combobox
      {...rest}
      isOpenAtFirst={isNew}
      value={value ?? ''}
      options={[
        ['', 'Default'],
        ...(isKnown ? [] : [[value, value] as const]),
        ...offered.map(({ id, name }) => [id, plainText(name)] as const),
      ]}
      onChange={id => onChange(id || null)}
    />
  )
}
