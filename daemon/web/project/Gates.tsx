import { requirementWords } from '../../../src/boardModel/gateWords.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Choice, NumberInput, TextArea, TextInput } from '../ui/Inputs.tsx'
import { ResourceSection, type ResourceForm, type ResourceRow } from '../ui/ResourceSection.tsx'
import { SettingsForm } from '../ui/SettingsForm.tsx'
import { agentOptions, profileOptions, useKnownAgents, type AgentOptions } from './Agents.tsx'
import { PeopleField } from './PeopleField.tsx'
import type { SectionProps } from './sectionProps.ts'

type Gate = Output<Contract['gates']['list']>[number]
/** The places of gates: each column in which cards work, and the merge, which has no ID. */
type Places = ReadonlyArray<readonly [id: string, text: string]>

const maxMinutes = 24 * 60
const maxApprovals = 20

/** The commands, approvals and reviews that cards need before they move on or are merged. */
export function GatesSection(props: SectionProps) {
  const { mayManage } = props
  const { id: projectId } = props.project
  const list = useLoad(() => client.gates.list({ projectId }), [projectId])
  const { value: places = [beforeMerge] } = useLoad(() => loadPlaces(projectId), [projectId])
  const { value: known } = useKnownAgents()
  return (
    <>
      <ResourceSection
        of={list}
        label="Gates"
        about="Before a card moves forward from a column or is merged, these commands must succeed, and these people and agents must approve. A result counts until the files change."
        empty="No gates. Cards move on and are merged without checks."
        mayEdit={mayManage}
        reorder={ids => client.gates.reorder({ projectId, ids })}
        row={gate => rowOf(gate, projectId, places, mayManage)}
        form={formOf(projectId, places, known)}
      />
      {mayManage && <AutoMode {...props} />}
    </>
  )
}

const landModes = [
  ['manual', 'By people'],
  ['when_proved', 'By the landing queue'],
] as const

/** The rounds and the merge of cards in auto mode. */
const AutoMode = ({ project: { id, gateRounds, land }, onChange }: SectionProps) => (
  <SettingsForm
    title="Auto mode"
    submit="Save auto mode"
    saved="Saved auto mode."
    initial={{ gateRounds, land }}
    save={async values => onChange(await client.projects.update({ id, ...values }))}
  >
    {({ bind }) => (
      <>
        <NumberInput
          label="Rounds"
          hint="How often a card goes back to its agent because its gates failed. Each round is a message to the agent."
          min={0}
          max={20}
          {...bind('gateRounds')}
        />
        <Choice
          label="Merged"
          options={landModes}
          hint="The queue merges a card that has passed its gates. Without gates, it merges all cards."
          {...bind('land')}
        />
      </>
    )}
  </SettingsForm>
)

const beforeMerge = ['', 'Before the merge'] as const

async function loadPlaces(projectId: string): Promise<Places> {
  const columns = await client.columns.list({ projectId })
  const working = columns.filter(({ columnType }) => columnType === 'backlog' || columnType === 'active')
  return [beforeMerge, ...working.map(({ id, name }) => [id, `Before leaving ${name}`] as const)]
}

const rowOf = (gate: Gate, projectId: string, places: Places, mayManage: boolean): ResourceRow => ({
  name: gate.name,
  about: places.find(([id]) => id === (gate.columnId ?? ''))?.[1],
  details:
    gate.command === null ? (
      <>
        <p>{requirementWords(gate)}</p>
        {gate.prompt && <p className="dim">{gate.prompt}</p>}
      </>
    ) : (
      <pre className="printed" tabIndex={0} aria-label={`Command of ${gate.name}`}>
        {gate.command}
      </pre>
    ),
  remove: mayManage && {
    text: 'Cards no longer need this gate. Its results are deleted.',
    run: () => client.gates.delete({ projectId, gateId: gate.id }),
  },
})

const kinds = [
  ['command', 'Command'],
  ['approval', 'Approval by people'],
  ['review', 'Review by an agent'],
] as const
const roles = [
  ['member', 'Members'],
  ['admin', 'Admins'],
] as const

const initial = (gate: Gate | undefined) => ({
  name: gate?.name ?? '',
  kind: gate?.kind ?? 'command',
  columnId: gate?.columnId ?? '',
  command: gate?.command ?? '',
  minutes: gate?.minutes ?? 30,
  approvals: gate?.approvals ?? 1,
  approverRole: gate?.approverRole ?? 'member',
  approverIds: (gate?.approverIds ?? []) as readonly string[],
  agent: gate?.agent ?? '',
  profile: gate?.profile ?? '',
  prompt: gate?.prompt ?? '',
})
type Values = ReturnType<typeof initial>

const fieldsOfKind = ({ kind, command, minutes, approvals, approverRole, approverIds, ...review }: Values) => {
  if (kind === 'command') return { command, minutes }
  if (kind === 'approval') return { approvals, approverRole, approverIds: approverIds.map(Number) }
  const { agent, profile, prompt } = review
  return { agent: agent || null, profile: profile || null, prompt, minutes }
}

const formOf = (projectId: string, places: Places, known: AgentOptions | undefined): ResourceForm<Gate, Values> => ({
  noun: 'gate',
  isWide: true,
  initial,
  save: (values, gate) => {
    const { name, kind, columnId } = values
    const input = { projectId, name, columnId: columnId || null, ...fieldsOfKind(values) }
    return gate ? client.gates.update({ ...input, gateId: gate.id }) : client.gates.create({ ...input, kind })
  },
  fields: ({ values, bind }, gate) => (
    <>
      <TextInput label="Name" required maxLength={200} {...bind('name')} />
      <Choice label="When" options={places} {...bind('columnId')} />
      {!gate && <Choice label="Requires" options={kinds} {...bind('kind')} />}
      {values.kind === 'command' && (
        <TextArea
          label="Shell command"
          required
          rows={4}
          className="mono"
          spellCheck={false}
          hint={
            gate ? 'After a change of the command, all cards must pass the gate again.' : 'It must not change files.'
          }
          {...bind('command')}
        />
      )}
      {values.kind === 'review' && <ReviewFields known={known} bind={bind} />}
      {values.kind !== 'approval' && (
        <NumberInput label="Time limit in minutes" min={1} max={maxMinutes} {...bind('minutes')} />
      )}
      {values.kind === 'approval' && <ApprovalFields projectId={projectId} bind={bind} />}
    </>
  ),
})

type Bind = Parameters<ResourceForm<Gate, Values>['fields']>[0]['bind']

const ApprovalFields = ({ projectId, bind }: { projectId: string; bind: Bind }) => (
  <>
    <NumberInput
      label="Approvals"
      hint="How many people must approve the files in a review. Agents do not count."
      min={1}
      max={maxApprovals}
      {...bind('approvals')}
    />
    <Choice label="By" options={roles} {...bind('approverRole')} />
    <PeopleField
      label="Only by these people"
      hint="If empty, everyone with the role can approve."
      projectId={projectId}
      {...bind('approverIds')}
    />
  </>
)

const ReviewFields = ({ known, bind }: { known: AgentOptions | undefined; bind: Bind }) => (
  <>
    <Choice
      isSearched
      label="Agent"
      options={agentOptions(known, "the card's agent")}
      hint="It reviews in a new session, in a read-only sandbox. Each review uses tokens."
      {...bind('agent')}
    />
    {known && known.profiles.length > 0 && (
      <Choice isSearched label="Profile" options={profileOptions(known)} {...bind('profile')} />
    )}
    <TextArea
      label="Instructions"
      rows={4}
      hint="Added to the board's own instructions. After a change, all cards must pass the gate again."
      {...bind('prompt')}
    />
  </>
)
