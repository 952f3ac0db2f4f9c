# Compiled
## Main() -> None
### Triggers
- T1:BGN At the beginning
- T2:CND When $x > 3
### Steps
- 01:QUE Ask the user for $order_id:str
- 02:YLD for user
- 03:CND If the order id is not valid
  - 03.01:QUE Say(user, Tell the user that the id is wrong)
  - 03.02:JMP 01
- 04:QUE $status:dict = GetStatus($order_id)
- 05:YLD for call
- 06:EXE Compute $total:float
- 07:TNK Think about $total
- 08:CHK N1
- 09:CND While the user is not done
  - 09.01:QUE Ask the user for $more
  - 09.02:JMP 09
- 10:RET $total
- 11:YLD for exit

### Notes
- N1 Be polite

## GetStatus($order_id: str) -> dict
### Steps
- 01:RET Return {"id": $order_id}
