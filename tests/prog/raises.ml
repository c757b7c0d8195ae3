(* Raises an exception through three calls, again and again. *)
exception Found of int

let[@inline never] rec find n i =
  if i = n then raise (Found i)
  else 1 + find n (i + 1)

let[@inline never] attempt n = try find n (n - 3) with Found i -> i

let[@inline never] work n =
  let sum = ref 0 in
  for i = 1 to n do
    sum := !sum + attempt i
  done;
  !sum

let () = Printf.printf "%d\n" (work (int_of_string Sys.argv.(1)))
