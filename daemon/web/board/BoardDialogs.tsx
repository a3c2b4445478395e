import { useState } from 'react'
import { meanings, shownKeys } from '../../../src/boardModel/actionMeanings.ts'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { countStarts, cardsText, placesAtTop } from '../../../src/boardModel/changes.ts'
import { keymapOf } from '../../../src/boardModel/keymap.ts'
import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import { useLoad } from '../app/load.ts'
import { announce, showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { shortcuts } from '../app/settings.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Field } from '../ui/Field.tsx'
import { Form } from '../ui/Form.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Choice } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { boardDialog, type BoardDialog } from './actions.ts'
import { BoardForm, ColumnForm } from './BoardForms.tsx'
import type { BoardSession } from './boardSession.ts'
import { moveToColumn } from './changeCards.ts'
import { PlanOf } from './PlanOf.tsx'

const close = () => boardDialog.set(undefined)

/** The board's dialogs, one at a time. */
export function BoardDialogs({ session, open }: { session: BoardSession; open: BoardDialog }) {
  switch (open.kind) {
    case 'moveTo':
      return <MoveTo session={session} cards={open.cards} />
    case 'labels':
      return <LabelsOf session={session} cards={open.cards} />
    case 'agent':
      return <AgentOf session={session} cards={open.cards} />
    case 'plan':
      return <PlanOf projectId={session.projectId} cards={open.cards} onClose={close} />
    case 'help':
      return <Help />
    case 'column':
      return <ColumnForm session={session} columnId={open.columnId} onClose={close} />
    case 'board':
      return <BoardForm session={session} boardId={open.boardId} onClose={close} />
  }
}

interface CardsProps {
  session: BoardSession
  cards: readonly Card[]
}

function MoveTo({ session, cards }: CardsProps) {
  const { columns } = session.currentBoard()
  return (
    <Dialog title={`Move ${cardsText(cards)} to`} onClose={close}>
      <div className="field column-choices">
        {columns.map(column => {
          const isHere = cards.every(({ id }) => column.ids.includes(id))
          const starting = countStarts(session.state.get(), placesAtTop(cards, column))
          return (
            <Button
              key={column.id}
              disabled={isHere}
              onClick={() => {
                close()
                moveToColumn(session, cards, column)
              }}
            >
              <span>{column.name}</span>
              <span className="hint">
                {isHere
                  ? 'here'
                  : starting === 0
                    ? ''
                    : starting === 1
                      ? 'starts an agent'
                      : `starts ${starting} agents`}
              </span>
            </Button>
          )
        })}
      </div>
    </Dialog>
  )
}

function LabelsOf({ session, cards }: CardsProps) {
  const [marks, setMarks] = useState<Readonly<Record<string, boolean>>>({})
  const [added, setAdded] = useState('')
  const all = new Set([
    ...[...session.state.get().cache.cards.values()].flatMap(({ labels }) => labels),
    ...Object.keys(marks),
  ])
  const isOn = (label: string) => marks[label] ?? cards.every(({ labels }) => labels.includes(label))
  const save = async () => {
    const wanted = { ...marks, ...(added.trim() !== '' && { [added.trim()]: true }) }
    for (const { id } of cards) await label(session.projectId, id, wanted)
    announce('Changed the labels')
    close()
  }
  return (
    <FormDialog title={`Labels of ${cardsText(cards)}`} onClose={close} submit="Save" onSubmit={save}>
      {[...all].sort().map(name => (
        <label key={name} className="check-row">
          <input
            type="checkbox"
            checked={isOn(name)}
            onChange={({ target }) => setMarks({ ...marks, [name]: target.checked })}
          />
          {name}
        </label>
      ))}
      <Field label="New label" field="labels">
        {props => <input {...props} maxLength={100} value={added} onChange={({ target }) => setAdded(target.value)} />}
      </Field>
    </FormDialog>
  )
}

/** Adds and removes labels of a card. Its other labels at that time are unchanged. */
async function label(projectId: string, cardId: string, marks: Readonly<Record<string, boolean>>): Promise<void> {
  const { labels, version } = await client.cards.get({ projectId, cardId })
  const kept = labels.filter(name => marks[name] !== false)
  const more = Object.keys(marks).filter(name => marks[name] && !kept.includes(name))
  if (more.length === 0 && kept.length === labels.length) return
  await client.cards.update({ projectId, cardId, labels: [...kept, ...more] }, { ifMatch: `"${version}"` })
}

function AgentOf({ session, cards }: CardsProps) {
  const [choice, setChoice] = useState('')
  const [model, setModel] = useState('')
  const read = useLoad(async () => {
    const [agents, profiles] = await Promise.all([client.agents.providers(), client.agentProfiles.list()])
    return { agents, profiles }
  }, [])
  const [agent = '', profile] = choice.split('\n')
  const save = async () => {
    const chosen = { agent: agent || null, profile: profile ?? null, model: model || null }
    for (const { id } of cards) await client.cards.update({ projectId: session.projectId, cardId: id, ...chosen })
    showMessage(`${cardsText(cards)}: ${agent === '' ? "the project's agent" : agent} is used from the next start.`)
    close()
  }
  return (
    <Dialog title={`Agent of ${cardsText(cards)}`} onClose={close}>
      <Await of={read}>
        {({ agents, profiles }) => (
          <Form submit="Save" onSubmit={save} onCancel={close}>
            <Choice
              label="Agent"
              field="agent"
              isSearched
              value={choice}
              onChange={setChoice}
              options={[
                ['', "The project's agent"],
                ...agents.map(({ id, name, installed }) => [id, installed ? name : `${name} (not installed)`] as const),
                ...profiles.map(
                  ({ name, agent: of }) =>
                    [
                      `${of}
${name}`,
                      `${name} (profile of ${of})`,
                    ] as const,
                ),
              ]}
            />
            <Choice
              label="Model"
              field="model"
              isSearched
              value={model}
              onChange={setModel}
              options={[
                ['', "The agent's default"],
                ...(agents.find(({ id }) => id === agent)?.models ?? []).map(({ id, name }) => [id, name] as const),
              ]}
            />
          </Form>
        )}
      </Await>
    </Dialog>
  )
}

const terminalOnly: ReadonlySet<ShortcutAction> = new Set(['nextTab', 'preview', 'browser', 'copyBranch'])
const here: Partial<Record<ShortcutAction, string>> = {
  edit: 'edit the title',
  jump: 'open the palette: cards, boards, projects and actions',
  project: 'open the palette',
  quit: 'close the card',
}

function Help() {
  const { keysOf } = keymapOf(shortcuts.get())
  return (
    <Dialog title="Keys" kind="wide" onClose={close}>
      <p className="hint">Ctrl-K or Cmd-K opens the palette on every page. You can change the keys in your settings.</p>
      <table className="table">
        <tbody>
          {(Object.keys(meanings) as ShortcutAction[])
            .filter(action => !terminalOnly.has(action))
            .map(action => (
              <tr key={action}>
                <th scope="row">
                  {keysOf[action].map(keys => (
                    <kbd key={keys}>{shownKeys(keys)}</kbd>
                  ))}
                </th>
                <td>{here[action] ?? meanings[action]}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </Dialog>
  )
}
