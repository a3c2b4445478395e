import { useState } from 'react'
import { formatFilter, parseFilter, toggleCondition } from '../../../src/boardModel/boardFilter.ts'
import { useStore } from '../app/store.ts'
import { Combobox } from '../ui/Combobox.tsx'
import type { BoardSession } from './boardSession.ts'
import { conditionText, filterOptions } from './filterOptions.ts'

/** A searchable list of conditions, each of which becomes a chip. */
export function FilterPicker({ session }: { session: BoardSession }) {
  const filter = useStore(session.state, state => state.filter)
  const [offered, setOffered] = useState<ReturnType<typeof filterOptions>>([])
  const { conditions } = parseFilter(filter)
  const isOn = (text: string) => conditions.some(each => conditionText(each) === text)
  const options = offered
    .map(condition => [formatFilter({ conditions: [condition], words: '' }), conditionText(condition)] as const)
    .filter(([, text]) => !isOn(text))
  return (
    <Combobox
      label="Add filter"
      options={options}
      hint="No values to filter by"
      onOpen={() => setOffered(filterOptions(session))}
      onChange={text => {
        const [condition] = parseFilter(text).conditions
        if (condition) session.set(state => ({ ...state, filter: toggleCondition(state.filter, condition) }))
      }}
    >
      Filter
    </Combobox>
  )
}
