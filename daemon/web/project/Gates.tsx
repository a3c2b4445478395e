import { approvalWords } from '../../../src/boardModel/gateWords.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Form } from '../ui/Form.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Choice, NumberInput, TextArea, TextInput, useFields } from '../ui/Inputs.tsx'
import { Rows, useEditing, type EditProps } from '../ui/Rows.tsx'
import { PeopleField } from './PeopleField.tsx'
import type { SectionProps } from './sectionProps.ts'

type Gate = Output<Contract['gates']['list']>[number]
/** The places of gates: each column in which cards work, and the merge, which has no ID. */
type Places = ReadonlyArray<readonly [id: string, text: string]>

const maxMinutes = 24 * 60
const maxApprovals = 20

/** The commands and approvals that cards need before they move on or are merged. */
export function GatesSection(props: SectionProps) {
  const { project, mayManage } = props
  const list = useLoad(() => client.gates.list({ projectId: project.id }), [project.id])
  const places = useLoad(() => loadPlaces(project.id), [project.id])
  const editing = useEditing<Gate>(list)
  const reorder = async (ids: string[]) => list.set(await client.gates.reorder({ projectId: project.id, ids }))
  const known = places.value ?? []
  return (
    <>
      <p>
        What a card needs before it moves forward from a column or is merged: commands that succeed, in this order, or
        people who approve. A result counts until the files change.
      </p>
      {mayManage && (
        <div className="tools">
          <Button isMain icon="add" onClick={editing.add}>
            New gate
          </Button>
        </div>
      )}
      <Rows of={list} label="Gates" empty="No gates. Cards move on and are merged without checks." isStacked>
        {(gate, at, gates) => (
          <GateRow
            {...props}
            gate={gate}
            place={known.find(([id]) => id === (gate.columnId ?? ''))?.[1] ?? ''}
            onEdit={() => editing.edit(gate)}
            onUp={at === 0 ? undefined : () => reorder(moveUp(gates, at))}
            reload={list.reload}
          />
        )}
      </Rows>
      {mayManage && <Rounds {...props} />}
      {editing.isOpen && places.value && (
        <Edit {...props} {...editing.dialog} gate={editing.edited} places={places.value} />
      )}
    </>
  )
}

/** How often a card in auto mode goes back to its agent. */
function Rounds({ project, onChange }: SectionProps) {
  const { values, bind } = useFields({ gateRounds: project.gateRounds })
  const save = async () => {
    onChange(await client.projects.update({ id: project.id, ...values }))
    showMessage('Saved the rounds.')
  }
  return (
    <div className="panel">
      <h3>Auto mode</h3>
      <Form submit="Save rounds" onSubmit={save}>
        <NumberInput
          label="Rounds"
          hint="How often a card goes back to its agent because its gates failed. Each round is a message to the agent."
          min={0}
          max={20}
          {...bind('gateRounds')}
        />
      </Form>
    </div>
  )
}

async function loadPlaces(projectId: string): Promise<Places> {
  const columns = await client.columns.list({ projectId })
  const working = columns.filter(({ columnType }) => columnType === 'backlog' || columnType === 'active')
  return [['', 'Before the merge'], ...working.map(({ id, name }) => [id, `Before leaving ${name}`] as const)]
}

const moveUp = (gates: readonly Gate[], at: number): string[] => {
  const ids = gates.map(({ id }) => id)
  return ids.toSpliced(at - 1, 2, ids[at]!, ids[at - 1]!)
}

interface RowProps extends SectionProps {
  gate: Gate
  place: string
  onEdit: () => void
  onUp: (() => Promise<void>) | undefined
  reload: () => Promise<void>
}

function GateRow({ project, mayManage, gate, place, onEdit, onUp, reload }: RowProps) {
  const remove = () =>
    confirm({
      title: `Delete ${gate.name}`,
      text: 'Cards no longer need this gate. Its results are deleted.',
      submit: 'Delete',
      run: async () => {
        await client.gates.delete({ projectId: project.id, gateId: gate.id })
        await reload()
      },
    })
  return (
    <div className="head">
      <div className="what">
        <strong>{gate.name}</strong> <span className="dim">{place}</span>
        {gate.command === null ? (
          <p>{approvalWords(gate)}</p>
        ) : (
          <pre className="printed" tabIndex={0} aria-label={`Command of ${gate.name}`}>
            {gate.command}
          </pre>
        )}
      </div>
      {mayManage && (
        <div className="tools">
          {onUp && <Button isPlain icon="up" label={`Move ${gate.name} up`} onClick={onUp} />}
          <Button isPlain icon="edit" label={`Edit ${gate.name}`} onClick={onEdit} />
          <Button isPlain icon="trash" label={`Delete ${gate.name}`} onClick={remove} />
        </div>
      )}
    </div>
  )
}

const kinds = [
  ['command', 'Command'],
  ['approval', 'Approval by people'],
] as const
const roles = [
  ['member', 'Members'],
  ['admin', 'Admins'],
] as const

function Edit({ project, gate, places, onClose, onSaved }: SectionProps & EditProps & { gate?: Gate; places: Places }) {
  const { values, bind } = useFields({
    name: gate?.name ?? '',
    kind: gate?.kind ?? 'command',
    columnId: gate?.columnId ?? '',
    command: gate?.command ?? '',
    minutes: gate?.minutes ?? 30,
    approvals: gate?.approvals ?? 1,
    approverRole: gate?.approverRole ?? 'member',
    approverIds: (gate?.approverIds ?? []) as readonly string[],
  })
  const isCommand = values.kind === 'command'
  const save = async () => {
    const { name, command, minutes, approvals, approverRole, approverIds } = values
    const input = {
      projectId: project.id,
      name,
      columnId: values.columnId || null,
      ...(isCommand ? { command, minutes } : { approvals, approverRole, approverIds: approverIds.map(Number) }),
    }
    if (gate) await client.gates.update({ ...input, gateId: gate.id })
    else await client.gates.create({ ...input, kind: values.kind })
    await onSaved()
  }
  return (
    <FormDialog
      title={gate ? `Edit ${gate.name}` : 'New gate'}
      kind="wide"
      onClose={onClose}
      submit={gate ? 'Save' : 'Add the gate'}
      onSubmit={save}
    >
      <TextInput label="Name" required maxLength={200} {...bind('name')} />
      <Choice label="When" options={places} {...bind('columnId')} />
      {!gate && <Choice label="Requires" options={kinds} {...bind('kind')} />}
      {isCommand ? (
        <>
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
          <NumberInput label="Time limit in minutes" min={1} max={maxMinutes} {...bind('minutes')} />
        </>
      ) : (
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
            projectId={project.id}
            {...bind('approverIds')}
          />
        </>
      )}
    </FormDialog>
  )
}
