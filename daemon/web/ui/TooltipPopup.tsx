import { Tooltip } from '@base-ui/react/tooltip'

/** The open tooltip of an element. Screen readers read the name and the description of the element instead. */
export function TooltipPopup({ anchor, onClose }: { anchor: HTMLElement; onClose: () => void }) {
  const { tooltip, keys } = anchor.dataset
  return (
    <Tooltip.Root open onOpenChange={onClose}>
      <Tooltip.Portal>
        <Tooltip.Positioner anchor={anchor} sideOffset={6} collisionPadding={4}>
          <Tooltip.Popup className="tooltip" aria-hidden="true">
            {tooltip} {keys && <kbd>{keys}</kbd>}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}
